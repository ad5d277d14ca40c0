/** The program with one defence taken out of its sources: what must then get through proves that the suite can fail. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { context, type BuildContext, type Plugin } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '../..');

/** One exact piece of text of one source file, and what stands there instead. */
export interface Piece {
  readonly file: string;
  readonly old: string;
  readonly new: string;
}

/** @throws when the text is not there exactly once: then the twin proves nothing any more */
export const replaceOnce = (text: string, { file, old, new: by }: Piece): string => {
  const parts = text.split(old);
  if (parts.length !== 2)
    throw new Error(`${file} has this ${parts.length - 1} times, and a twin takes it out:\n${old}`);
  return parts.join(by);
};

/** Rebuilt for each twin: what is not changed is not read again. */
export interface Mutants {
  /** @returns the folder of a package with that build */
  readonly make: (pieces: readonly Piece[]) => Promise<string>;
  readonly remove: () => Promise<void>;
}

/** @param files that any of the twins changes: to look at others costs as much as the build */
export const openMutants = async (files: readonly string[]): Promise<Mutants> => {
  // Read by esbuild's own process when it starts: several threads and a tidy memory cost a third of what the builds take.
  Object.assign(process.env, { GOMAXPROCS: '1', GOGC: '400' });
  const folder = mkdtempSync(join(tmpdir(), 'orchestrate-mutants-'));
  let current: readonly Piece[] = [];
  const plugin: Plugin = {
    name: 'without-a-defence',
    setup: (build) => {
      build.onLoad({ filter: new RegExp(`/(?:${files.join('|')})$`) }, ({ path }) => {
        const pieces = current.filter(({ file }) => path === join(ROOT, file));
        if (pieces.length === 0) return undefined;
        let contents = readFileSync(path, 'utf8');
        for (const piece of pieces) contents = replaceOnce(contents, piece);
        return { contents, loader: 'ts' };
      });
    },
  };
  const builder: BuildContext = await context({
    absWorkingDir: ROOT,
    // As .ci/bundles.mjs builds the main bundle, but for its size.
    entryPoints: ['orchestrator/cli/main.ts'],
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['yaml', 'zod', 'execa', 'picomatch', 'xstate'],
    supported: { 'dynamic-import': false },
    write: false,
    logLevel: 'silent',
    plugins: [plugin],
  });
  let count = 0;
  const buildOne = async (pieces: readonly Piece[]): Promise<string> => {
    current = pieces;
    const { outputFiles } = await builder.rebuild();
    count += 1;
    return packageOf(join(folder, String(count)), outputFiles?.[0]?.text ?? '');
  };
  // One at a time: the pieces are those of the build that is going on.
  let last: Promise<unknown> = Promise.resolve();
  return {
    make: (pieces) => {
      const made = last.then(() => buildOne(pieces));
      last = made.catch(() => undefined);
      return made;
    },
    remove: async () => {
      await builder.dispose();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

/** As it is installed, but for its main bundle. */
const packageOf = (folder: string, code: string): string => {
  const dist = join(folder, 'dist');
  mkdirSync(dist, { recursive: true });
  for (const name of ['package.json', 'targets.yaml', 'references'])
    symlinkSync(join(ROOT, name), join(folder, name));
  for (const name of ['orchestrate.cjs', 'hostile-worker.cjs'])
    cpSync(join(ROOT, 'dist', name), join(dist, name));
  symlinkSync(join(ROOT, 'dist/vendor'), join(dist, 'vendor'));
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${code}\n})`;
  writeFileSync(join(dist, 'main.cjs'), wrapped);
  return folder;
};
