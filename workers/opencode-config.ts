/** What opencode is told in its configuration and environment. */
import { relative } from 'node:path';
import type { Invocation, WorkerRequest } from './worker.js';

/** Of several rules that fit the last one counts. */
type Permission = Readonly<Record<string, 'allow' | 'deny' | Readonly<Record<string, 'allow' | 'deny'>>>>;

/**
 * Where an agent that does not change the tree is started: an empty repository of its own. It runs the plugins that it finds in the
 * folders `.opencode` from where it starts up to the root of the repository, in its own process and without a way to switch that
 * off. Whoever judges a tree must not run as a part of it.
 */
const START = 'start';
const INSTRUCTIONS = `${START}/worker.md`;

export const startOf = ({ access, paths }: WorkerRequest): string =>
  access === 'write' ? paths.tree : `${paths.config}/${START}`;

/**
 * What is denied is told to the model; what would have to be asked for ends the run without a word, so nothing is left to be asked.
 * Files everywhere may be read. A file that is written goes by its path from the root of the repository. Of the tree a reader's shell
 * is kept off by the sandbox and the fingerprint only.
 */
const permissionOf = (request: WorkerRequest): Permission => {
  const own: Permission = { '*': 'deny', external_directory: 'allow', read: 'allow' };
  const below = `${relative(startOf(request), request.paths.out)}/*`;
  const results: Permission = { edit: { '*': 'deny', [below]: 'allow' } };
  if (request.access === 'none') return { ...own, ...results };
  const work: Permission = {
    ...own,
    glob: 'allow',
    grep: 'allow',
    list: 'allow',
    todowrite: 'allow',
    bash: 'allow',
  };
  return request.access === 'write' ? { ...work, edit: 'allow' } : { ...work, ...results };
};

const configOf = (request: WorkerRequest): string =>
  JSON.stringify({
    autoupdate: false,
    share: 'disabled',
    snapshot: false,
    permission: permissionOf(request),
    // The project's instructions are for who changes it, not for who judges it.
    instructions: [
      request.access === 'write'
        ? `${request.paths.tree}/AGENTS.md`
        : `${request.paths.config}/${INSTRUCTIONS}`,
    ],
  });

export const filesOf = ({ access, paths }: WorkerRequest): NonNullable<Invocation['files']> =>
  access === 'write'
    ? []
    : [
        { path: `${START}/.git/HEAD`, text: 'ref: refs/heads/main\n' },
        { path: `${START}/.git/objects/.keep`, text: '' },
        { path: `${START}/.git/refs/.keep`, text: '' },
        {
          path: INSTRUCTIONS,
          text: `You start in an empty folder. Your tree is ${paths.tree}: name it in full, and run commands there.\n`,
        },
      ];

export const QUIET = {
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
};

/**
 * HOME and `XDG_*` stay the user's: whatever the agent runs (git, package managers, version managers) needs them too. So its log, its
 * login and its providers stay where they are, and only the session is this child's own.
 */
export const environmentOf = (request: WorkerRequest): Readonly<Record<string, string>> => ({
  ...QUIET,
  OPENCODE_CONFIG_CONTENT: configOf(request),
  OPENCODE_DB: `${request.paths.config}/opencode.db`,
  OPENCODE_DISABLE_PROJECT_CONFIG: '1',
  // A plugin of the user makes it install packages first, without a time limit.
  OPENCODE_PURE: '1',
  OPENCODE_DISABLE_CLAUDE_CODE: '1',
  OPENCODE_DISABLE_EXTERNAL_SKILLS: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  ...request.spec.env,
});
