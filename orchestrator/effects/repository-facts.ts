import { Problem } from '../model/failure.js';
import type { RepositoryPaths } from '../model/git.js';
import type { Pipeline } from '../model/pipeline.js';
import { openGit, runForText } from '../git/git.js';
import { checkoutGitDir } from '../git/repository.js';
import { identityOf, readUserConfig, remoteUrls } from '../git/user-config.js';

/**
 * What a first run needs of the user's repository, asked before anything is made.
 * @throws `Problem` `git-missing`, `no-commits`, or `usage` when git does not know who commits
 */
export const requireBase = async (
  env: NodeJS.ProcessEnv,
  paths: RepositoryPaths,
  pipeline: Pipeline,
): Promise<void> => {
  const git = openGit(paths, env);
  const head = await runForText(git, {
    args: ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'],
    gitDir: checkoutGitDir(paths),
    answers: [1],
  });
  if (!head.ok) throw new Problem(head.failure);
  if (head.value === '' && pipeline.settings.base === undefined) {
    throw new Problem({
      kind: 'no-commits',
      message: 'the repository has no commits, so there is nothing to start from',
      where: paths.root,
      next: 'make a first commit: `git add -A && git commit -m "Start"`',
    });
  }
  const config = await readUserConfig(git, paths);
  identityOf(config);
  requireRemote(pipeline, remoteUrls(config, pipeline.settings.remote, paths) !== undefined);
};

/** Found now, and not after an hour of work. */
const requireRemote = (pipeline: Pipeline, hasRemote: boolean): void => {
  const needing = pipeline.targets.find(
    ({ recipe }) => recipe.kind === 'builtin' && ['push', 'land'].includes(recipe.builtin),
  );
  if (hasRemote || needing === undefined) return;
  const { remote } = pipeline.settings;
  throw new Problem({
    kind: 'usage',
    message: `target \`${needing.name}\` needs the remote \`${remote}\`, which this repository does not have`,
    next: `\`git remote add ${remote} URL\`, or drop the targets in a targets.yaml that says \`extends: builtin\` and \`push: null\`, \`land: null\``,
  });
};

/** Where a branch of the user's repository is; `undefined` when there is none. */
export const branchHead = async (
  env: NodeJS.ProcessEnv,
  paths: RepositoryPaths,
  branch: string,
): Promise<string | undefined> => {
  const head = await runForText(openGit(paths, env), {
    args: ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`],
    gitDir: checkoutGitDir(paths),
    answers: [1],
  });
  if (!head.ok) throw new Problem(head.failure);
  return head.value === '' ? undefined : head.value;
};
