import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openGit, run, type GitCommand } from '../git/git.js';
import { Problem } from '../model/failure.js';
import type { Result } from '../model/result.js';
import { LIBRARY } from './library.js';
import { importStream } from './import-stream.js';
import { demoPipelineText, type DemoApproval } from './pipeline-text.js';
import { TICKET_320 } from './ticket-320.js';
import { TICKET_321 } from './ticket-321.js';

export interface SampleRequest {
  /** The checkout. It is made when it does not exist; it must be empty. */
  readonly dir: string;
  /** Who approves a plan in its targets.yaml. Default: a person. */
  readonly approval?: DemoApproval;
  /** Runs one git command. Default: the git on PATH, which sees nothing of the person's configuration. */
  readonly git?: SampleGit;
}

export type SampleGit = (command: GitCommand) => Promise<Result<unknown>>;

export interface Sample {
  /** Root of the checkout, absolute; branch `main`, tracking `origin/main`. */
  readonly repository: string;
  /** The bare remote `origin`, absolute. It lies in the git directory, where it is in nobody's way and moves along. */
  readonly remote: string;
}

/** One identity and two fixed days: the commits have the same ids wherever the sample is made. */
const AUTHOR = 'Demo User <demo@example.com>';
const FIRST_DAY = 1_767_258_000;
const SECOND_DAY = FIRST_DAY + 86_400;

const historyOf = (approval: DemoApproval): string =>
  importStream('refs/heads/main', AUTHOR, [
    { seconds: FIRST_DAY, message: 'Start the library\n', files: LIBRARY },
    {
      seconds: SECOND_DAY,
      message: 'File tickets 320 and 321\n',
      files: { 'targets.yaml': demoPipelineText({ approval }), ...TICKET_320, ...TICKET_321 },
    },
  ]);

/** What keeps the settings of the person's machine out of a repository that is worked in by hand as well. */
const SETTINGS: Readonly<Record<string, string>> = {
  'user.name': 'Demo User',
  'user.email': 'demo@example.com',
  'commit.gpgSign': 'false',
  'tag.gpgSign': 'false',
  'core.autocrlf': 'false',
  'core.hooksPath': '.git/hooks',
};

/** The git on PATH. Found before anything is made. */
const ownGit = (repository: string): SampleGit => {
  const git = openGit({ root: repository, mainRoot: repository, gitDir: join(repository, '.git') });
  return (command) => run(git, command);
};

const build = async (
  git: SampleGit,
  { repository, remote }: Sample,
  approval: DemoApproval,
): Promise<void> => {
  const gitDir = join(repository, '.git');
  const step = async (args: readonly string[], more: Partial<GitCommand> = {}): Promise<void> => {
    const result = await git({ args, gitDir, cwd: repository, ...more });
    if (!result.ok) throw new Problem(result.failure);
  };
  await step(['init', '--quiet', '--template=']);
  await step(['symbolic-ref', 'HEAD', 'refs/heads/main']);
  for (const [name, value] of Object.entries(SETTINGS)) await step(['config', name, value]);
  await step(['fast-import', '--quiet'], { input: historyOf(approval) });
  await step(['reset', '--quiet', '--hard', 'refs/heads/main'], { workTree: repository });
  await step(['init', '--quiet', '--bare', '--template='], { gitDir: remote });
  await step(['symbolic-ref', 'HEAD', 'refs/heads/main'], { gitDir: remote });
  await step(['remote', 'add', 'origin', remote]);
  await step(['push', '--quiet', '--set-upstream', 'origin', 'refs/heads/main:refs/heads/main']);
  await step(['remote', 'set-head', 'origin', 'main']);
};

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

/** Makes the folder, or finds it empty. @returns what has to be removed when the sample cannot be finished */
const claimFolder = (dir: string): string | undefined => {
  try {
    const made = mkdirSync(dir, { recursive: true });
    if (readdirSync(dir).length === 0) return made;
  } catch (error) {
    const isFile = codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOTDIR';
    throw new Problem(
      isFile
        ? { kind: 'usage', message: `\`${dir}\` is not a folder`, next: 'name a new or an empty folder' }
        : {
            kind: 'not-writable',
            message: `\`${dir}\` cannot be made: ${error instanceof Error ? error.message : String(error)}`,
            next: 'name a folder that you may write to',
          },
      { cause: error },
    );
  }
  throw new Problem({
    kind: 'usage',
    message: `\`${dir}\` is not empty; the sample repository is only made in an empty folder`,
    next: 'name a new or an empty folder',
  });
};

const removeAll = (dir: string, made: string | undefined): void => {
  if (made !== undefined) return rmSync(made, { recursive: true, force: true });
  for (const entry of readdirSync(dir)) rmSync(join(dir, entry), { recursive: true, force: true });
};

/**
 * Makes the sample repository of `demo`: a small library with tickets 320 and 321, their scripts, a `targets.yaml` and a
 * bare remote. Whatever goes wrong, the folder is as it was before.
 * @throws Problem `usage` for a folder that is not empty or not a folder, `not-writable`, `git-missing`, `git-failed`
 */
export const prepareSample = async (request: SampleRequest): Promise<Sample> => {
  const repository = resolve(request.dir);
  const git = request.git ?? ownGit(repository);
  const made = claimFolder(repository);
  const sample: Sample = { repository, remote: join(repository, '.git', 'origin.git') };
  try {
    await build(git, sample, request.approval ?? 'person');
    return sample;
  } catch (error) {
    removeAll(repository, made);
    throw error;
  }
};
