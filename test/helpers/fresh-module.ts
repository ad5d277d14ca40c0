/** Fresh copies of our modules in another world: other system calls, other variables. */
import type * as NodeFs from 'node:fs';
import { onTestFinished, vi } from 'vitest';

type Fs = typeof NodeFs;

/** Loads a module for which `node:fs` has these functions; `change` is given the real ones. */
export const withFs = async <Module>(
  change: (fs: Fs) => Record<string, unknown>,
  load: () => Promise<Module>,
): Promise<Module> => {
  vi.resetModules();
  vi.doMock('node:fs', async (original) => {
    const fs = await original<Fs>();
    return { ...fs, ...change(fs) };
  });
  onTestFinished(() => {
    vi.doUnmock('node:fs');
  });
  return load();
};

/** Loads a module that finds this variable when it is evaluated. */
export const withVariable = async <Module>(
  name: string,
  value: string,
  load: () => Promise<Module>,
): Promise<Module> => {
  vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  vi.resetModules();
  return load();
};
