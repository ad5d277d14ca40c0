// Which of the program's modules go into which bundle. A `run` that has nothing to do reads the first one only: the code of the
// others, nine tenths of it, is neither read nor unpacked.
import { relative } from 'node:path';
import { build } from 'esbuild';

const ENTRY = 'orchestrator/cli/main.ts';
const RUN = 'orchestrator/commands/run.ts';
/** What `run` loads when there is something to do. */
const DRIVE = 'orchestrator/commands/run-tickets.ts';

/**
 * @typedef {object} Group
 * @property {string} name `main`: what every command needs, and a `run` with nothing to do; `core`: what every other `run` needs; `work`: what it
 *   needs besides, for agents, trees and git; `tools`: the other commands
 * @property {readonly string[]} shared paths of its modules that other groups import
 */

/**
 * @param {string} root of the package
 * @param {import('esbuild').BuildOptions} options of a bundle of the whole program
 * @returns {Promise<{ groups: readonly Group[], groupOf: (path: string) => string | undefined }>} groups without a module are left out
 */
export const groupModules = async (root, options) => {
  const { metafile } = await build({ ...options, absWorkingDir: root, entryPoints: [ENTRY], outdir: 'dist' });
  const { inputs } = metafile;
  const edges = (path, kinds) =>
    inputs[path].imports
      .filter(({ external, kind }) => !external && kinds.includes(kind))
      .map((to) => to.path);
  const reach = (paths, kinds) => {
    const found = new Set(paths);
    for (const path of found) for (const to of edges(path, kinds)) found.add(to);
    return found;
  };
  const known = (path) => (path in inputs ? [path] : []);
  const members = {
    main: reach([ENTRY, ...known(RUN)], ['import-statement']),
    core: reach(known(DRIVE), ['import-statement']),
    work: reach(known(RUN), EVERY_KIND),
    tools: new Set(Object.keys(inputs)),
  };
  const groupOf = (path) => Object.keys(members).find((name) => members[name].has(path));
  const shared = new Set(
    Object.keys(inputs).flatMap((path) =>
      edges(path, EVERY_KIND).filter((to) => groupOf(to) !== groupOf(path)),
    ),
  );
  const groups = Object.keys(members).map((name) => ({
    name,
    shared: [...shared].filter((path) => groupOf(path) === name).toSorted((a, b) => (a < b ? -1 : 1)),
  }));
  return { groups: groups.filter(({ name, shared }) => name === 'main' || shared.length > 0), groupOf };
};

const EVERY_KIND = ['import-statement', 'dynamic-import', 'require-call'];

/**
 * What a bundle of one group begins with: its modules by path, each evaluated when it is first asked for, and the program.
 * @param {Group} group
 */
export const entryOf = ({ name, shared }) => {
  const modules = shared.map(
    (path) => `${JSON.stringify(path)}: () => require(${JSON.stringify(`./${path}`)})`,
  );
  const program = name === 'main' ? `export { main } from './${ENTRY}';\n` : '';
  return `${program}export const modules = { ${modules.join(', ')} };\n`;
};

/** Leaves the modules of other groups to the launcher's `require`, as `#GROUP/PATH`. */
export const otherGroups = (root, name, groupOf) => ({
  name: 'other-groups',
  setup: (builder) => {
    builder.onResolve({ filter: /^\./ }, async ({ path, resolveDir, kind, pluginData }) => {
      if (pluginData === 'asked') return undefined;
      const found = await builder.resolve(path, { resolveDir, kind, pluginData: 'asked' });
      const module = relative(root, found.path);
      const group = groupOf(module);
      if (found.errors.length > 0 || group === undefined || group === name) return found;
      return { path: `#${group}/${module}`, external: true };
    });
  },
});
