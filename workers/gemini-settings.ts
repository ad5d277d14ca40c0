/** What Gemini CLI is told in files: settings, and rules about its tools. */
import type { Access } from '../orchestrator/model/pipeline.js';
import type { Invocation, WorkerRequest } from './worker.js';

/** Below `paths.config`. */
export const POLICY = 'policy.toml';
const SYSTEM_SETTINGS = 'system-settings.json';

/** Without a kind of login in the settings it ends with exit status 41, even when there is a key. */
const loginKind = (variables: ReadonlySet<string>): string => {
  if (variables.has('GEMINI_API_KEY')) return 'gemini-api-key';
  return variables.has('GOOGLE_API_KEY') ? 'vertex-ai' : 'oauth-personal';
};

/** What the settings of a tree could otherwise set: programs that are started, and where what is said goes. */
const LOCKED = {
  telemetry: { enabled: false },
  advanced: { ignoreLocalEnv: true },
  hooksConfig: { enabled: false },
  ide: { enabled: false },
  tools: { sandbox: false, discoveryCommand: '', callCommand: '', shell: { enableInteractiveShell: false } },
};

const settingsOf = ({ spec, access, variables }: WorkerRequest): string =>
  JSON.stringify({
    ...LOCKED,
    security: { auth: { selectedType: loginKind(variables) } },
    privacy: { usageStatisticsEnabled: false },
    general: {
      enableAutoUpdate: false,
      enableAutoUpdateNotification: false,
      // It tries 10 times by default, for minutes and in silence; how often to begin again is for the pipeline to say.
      maxAttempts: 3,
      plan: { enabled: false },
    },
    // The project's instructions are for who changes it, not for who judges it; but GEMINI.md it reads in any case.
    context: { fileName: access === 'write' ? ['AGENTS.md', 'GEMINI.md'] : ['GEMINI.md'] },
    ...(spec.maxTurns === undefined ? {} : { model: { maxSessionTurns: spec.maxTurns } }),
  });

interface Rule {
  readonly tools: readonly string[];
  readonly decision: 'allow' | 'deny';
  readonly priority: number;
  /** Regular expression over the arguments, each of them as `"name":value` between two NUL characters. */
  readonly pattern?: string;
}

const EDITORS = ['write_file', 'replace'];
const NOT_OFFERED = ['web_fetch', 'google_web_search', 'activate_skill'];

const escaped = (text: string): string => text.replaceAll(/[-[\]{}()*+?.,\\^$|#\s"]/g, String.raw`\$&`);

/**
 * Files may be written below `out` only. What is denied under a condition is still offered to the model; without one it is not
 * even mentioned.
 */
const onlyBelow = (out: string): readonly Rule[] => {
  const inJson = JSON.stringify(out).slice(1, -1);
  return [
    { tools: EDITORS, decision: 'deny', priority: 900, pattern: String.raw`"file_path":"[^\x00]*/\.\.[/"]` },
    {
      tools: EDITORS,
      decision: 'allow',
      priority: 800,
      pattern: String.raw`\x00"file_path":"${escaped(inJson)}/`,
    },
    { tools: EDITORS, decision: 'deny', priority: 700, pattern: '"file_path":' },
  ];
};

/**
 * On top of the rules of the approval mode. Of the tree a reader's shell is kept off by the sandbox and the fingerprint only: it
 * has to run tests, and what a command writes cannot be told from its text.
 */
const rulesOf = (access: Access, out: string): readonly Rule[] => {
  const notOffered: Rule = { tools: NOT_OFFERED, decision: 'deny', priority: 700 };
  if (access === 'write') return [notOffered];
  if (access === 'read-only') return [notOffered, ...onlyBelow(out)];
  return [
    { tools: ['read_file'], decision: 'allow', priority: 700 },
    { tools: ['*'], decision: 'deny', priority: 100 },
    ...onlyBelow(out),
  ];
};

/** TOML; a JSON string is a TOML string too. */
const policyOf = (rules: readonly Rule[]): string =>
  rules
    .map(({ tools, decision, priority, pattern }) =>
      [
        '[[rule]]',
        `toolName = ${JSON.stringify(tools)}`,
        ...(pattern === undefined ? [] : [`argsPattern = ${JSON.stringify(pattern)}`]),
        `decision = "${decision}"`,
        `priority = ${priority}`,
        '',
      ].join('\n'),
    )
    .join('\n');

export const filesOf = (request: WorkerRequest): NonNullable<Invocation['files']> => [
  { path: '.gemini/settings.json', text: settingsOf(request) },
  { path: POLICY, text: policyOf(rulesOf(request.access, request.paths.out)) },
  ...(request.access === 'write' ? [] : [{ path: SYSTEM_SETTINGS, text: JSON.stringify(LOCKED) }]),
];

/** An `.env` in the tree's `.gemini` sets no variable that is there already; an empty one is as good as none. */
const ENDPOINTS = [
  'GOOGLE_GEMINI_BASE_URL',
  'GOOGLE_VERTEX_BASE_URL',
  'CODE_ASSIST_ENDPOINT',
  'GEMINI_SYSTEM_MD',
];

/**
 * It has to trust the tree, or it ends. Where the tree is judged, its settings are therefore overruled by system settings of ours
 * (they stand in for those of the machine), and it cannot choose who answers.
 */
export const guardOf = ({ access, paths, variables }: WorkerRequest): Readonly<Record<string, string>> => {
  if (access === 'write') return {};
  const absent = ENDPOINTS.filter((name) => !variables.has(name));
  return {
    GEMINI_CLI_SYSTEM_SETTINGS_PATH: `${paths.config}/${SYSTEM_SETTINGS}`,
    ...Object.fromEntries(absent.map((name) => [name, ''])),
  };
};
