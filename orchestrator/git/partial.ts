import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RepositoryPaths } from '../model/git.js';
import { networkEnvironment } from './environment.js';
import type { Git, GitCommand } from './git.js';
import { networkSettings, readUserConfig } from './user-config.js';

/**
 * Whether the user's repository is a partial clone: git fetches objects when they are first needed. Only the repository's
 * own file counts for that. Source: git's Documentation/technical/partial-clone.
 */
export const isPartial = ({ gitDir }: RepositoryPaths): boolean =>
  /^\s*(?:partialclone\s*=|promisor\s*=\s*(?:true|yes|on|1)\s*$)/im.test(
    readFileSync(join(gitDir, 'config'), 'utf8'),
  );

const FETCH_TIMEOUT_MS = 30 * 60_000;

/**
 * For commands that read objects of the user's repository: what git needs to fetch those that a partial clone has not got.
 * Nothing for a whole one.
 */
export const lazyFetching = async (
  git: Git,
  paths: RepositoryPaths,
): Promise<Pick<GitCommand, 'env' | 'timeoutMs'>> => {
  if (!isPartial(paths)) return {};
  const settings = networkSettings(await readUserConfig(git, paths));
  return { env: networkEnvironment(git, settings), timeoutMs: FETCH_TIMEOUT_MS };
};
