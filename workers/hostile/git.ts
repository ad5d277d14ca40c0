import { execFileSync } from 'node:child_process';
import type { Scene } from './scene.js';

interface GitOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The worker's own git, in its own clone, with the settings that it gave it. @throws what git said */
export const git = (
  { tree, orders }: Scene,
  args: readonly string[],
  { input, env = {} }: GitOptions = {},
): string => {
  const own = { PATH: process.env['PATH'], HOME: orders.places.home, GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', ['-C', tree, ...args], {
    input: input ?? '',
    env: { ...own, ...env },
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
};
