/** Who may import whom, types included; what is not listed is not allowed. `test/architecture.test.ts` runs it. */
const MAY_IMPORT = {
  model: '',
  machine: 'model',
  pipeline: 'model machine',
  workers: 'model',
  // A program of its own, which the orchestrator forks like any other.
  'workers/scripted': 'model',
  // What `attack` puts in the place of every worker; it reads its assignment as the scripted one does.
  'workers/hostile': 'model workers/scripted',
  state: 'model',
  git: 'model state',
  process: 'model workers state',
  gates: 'model git process state',
  context: 'model state',
  // No process, no git: effects arrive as functions, so that the engine runs in a test without either.
  scheduler: 'model machine pipeline',
  record: 'model machine state',
  effects: 'model machine workers state git process gates context scheduler record builtins',
  builtins: 'model machine git state gates scheduler effects',
  demo: 'model git state process pipeline',
  // Of the hostile program only the words that it is told.
  attack: 'model git state process demo workers/hostile',
  commands:
    'model machine pipeline workers state git process gates context scheduler record effects builtins demo attack',
  cli: 'model commands state',
  launcher: 'model state',
};

const PATH = {
  workers: '^workers/(?!scripted/|hostile/)',
  'workers/scripted': '^workers/scripted/',
  'workers/hostile': '^workers/hostile/',
};
const folder = (name) => PATH[name] ?? `^orchestrator/${name}/`;

const SHIPPED = ['^orchestrator/', '^workers/'];

const layers = Object.entries(MAY_IMPORT).map(([name, others]) => ({
  name: `${name.replace('/', '-')}-imports`,
  severity: 'error',
  from: { path: folder(name) },
  to: { path: SHIPPED, pathNot: [name, ...others.split(' ').filter(Boolean)].map(folder) },
}));

/** Only these places may import `modules` (expressions on the resolved name). */
const only = (name, places, modules) => ({
  name,
  severity: 'error',
  from: { path: SHIPPED, pathNot: places },
  to: { path: modules },
});

export default {
  forbidden: [
    ...layers,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-unknown-folder',
      severity: 'error',
      from: {
        path: SHIPPED,
        pathNot: [...Object.keys(MAY_IMPORT).map(folder), '^orchestrator/index\\.ts$'],
      },
      to: {},
    },
    {
      name: 'nothing-imports-the-library-entry',
      severity: 'error',
      from: { path: SHIPPED },
      to: { path: '^orchestrator/index\\.ts$' },
    },
    {
      name: 'shipped-code-without-tests',
      severity: 'error',
      from: { path: SHIPPED },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'everything-resolves',
      severity: 'error',
      from: { path: SHIPPED },
      to: { couldNotResolve: true },
    },
    only(
      'only-process-and-git-spawn',
      ['process', 'git', 'workers/scripted', 'workers/hostile'].map(folder),
      ['^(node:)?child_process$', 'node_modules/execa/'],
    ),
    only(
      'only-these-touch-the-disk',
      [
        ...['state', 'process', 'git', 'record', 'effects', 'builtins', 'demo', 'commands'].map(folder),
        ...['attack', 'workers/scripted', 'workers/hostile', 'launcher'].map(folder),
        '^orchestrator/pipeline/(load|files|cache)\\.ts$',
        // Standard output and error are descriptors.
        '^orchestrator/cli/process-io\\.ts$',
      ],
      ['^(node:)?fs(/promises)?$'],
    ),
    only('only-the-machine-knows-xstate', [folder('machine')], ['node_modules/xstate/']),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types'],
      extensionAlias: { '.js': ['.ts', '.js'] },
    },
  },
};
