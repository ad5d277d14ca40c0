import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { outcomeOf, quickEnv, quickTicket } from '../helpers/quick-ticket.js';
import { createRig } from '../helpers/rig.js';

const LANES = 4;

/** Every kind of write once: the last crossing of each name, so that the middle and the end of a run are among them. */
const kindsOf = (names: readonly string[]): { readonly name: string; readonly n: number }[] =>
  [...new Map(names.map((name, index) => [name, index + 1]))]
    .map(([name, n]) => ({ name, n }))
    .filter(({ name }) => /^(write|rename|link|append|appended|sync folder) /.test(name));

/** The checkpoint is a cache; the key is there once it is linked, and its folder is ours alone. */
const isCache = (name: string): boolean => name.includes('checkpoint') || name === 'sync folder orchestrate';

const FAULTS = ['ENOSPC', 'EIO', 'EROFS', 'EDQUOT'] as const;

test('a write that fails says so, and leaves a state that resumes to the same end', async () => {
  const calm = createRig();
  quickTicket(calm);
  await calm.run(['run', '--ticket', '1'], {
    env: { ...quickEnv(calm), ORCHESTRATE_TEST_CROSSINGS: join(calm.dir, 'crossings') },
  });
  const wanted = outcomeOf(calm);
  const left = kindsOf(readFileSync(join(calm.dir, 'crossings'), 'utf8').trimEnd().split('\n'));
  expect(left.length).toBeGreaterThan(20);
  const wrong: string[] = [];
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const rig = createRig();
      quickTicket(rig);
      const fault = FAULTS[next.n % FAULTS.length] ?? 'EIO';
      const at = `${fault} at crossing ${next.n}, ${next.name}`;
      const failed = await rig.run(['run', '--ticket', '1'], {
        env: { ...quickEnv(rig), ORCHESTRATE_TEST_CROSSING: `${next.n}:${fault}` },
      });
      const ended = await rig.run(['run', '--ticket', '1'], { env: quickEnv(rig) });
      const isSaid = [1, 2].includes(failed.code ?? 0) && failed.stderr.includes(fault);
      const isWhole = ended.code === 0 && isDeepStrictEqual(outcomeOf(rig), wanted);
      // What only makes the next start faster may fail in silence.
      if (!(isSaid || isCache(next.name)) || !isWhole)
        wrong.push(`${at}: ${failed.code} ${failed.stderr} then ${ended.code} ${ended.stderr}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(wrong).toEqual([]);
}, 300_000);

test('a clock that jumps back, and a thousand files in the inbox, change nothing', async () => {
  const rig = createRig();
  quickTicket(rig);
  const first = await rig.run(['run', '--ticket', '1', '--until', 'approved-plan'], { env: quickEnv(rig) });
  expect(first.code, first.stderr).toBe(0);
  for (let id = 1; id <= 1_000; id += 1)
    rig.write({ [`.orchestrate/1/inbox/${String(id).padStart(4, '0')}.md`]: `directive ${id}\n` });
  // The record may lie in the future of a clock that was set back.
  const preload = join(rig.dir, 'back.cjs');
  rig.write({ '../back.cjs': 'const now = Date.now; Date.now = () => now() - 86_400_000;\n' });
  const ended = await rig.run(['run', '--ticket', '1'], {
    env: { ...quickEnv(rig), NODE_OPTIONS: `--require ${preload}` },
  });
  expect(ended.code, ended.stderr).toBe(0);
  expect(rig.events('1').filter(({ type }) => type === 'directive.read')).toHaveLength(1_000);
  expect(outcomeOf(rig).agents).toHaveLength(6);
});
