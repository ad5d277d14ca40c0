import { describe, expect, test } from 'vitest';
import { gate, MOVED, settle, worldOf, type Graph, type Work } from '../helpers/scheduling.js';

const before = (log: readonly string[], first: string, second: string): void => {
  expect(log).toContain(first);
  expect(log).toContain(second);
  expect(log.indexOf(first)).toBeLessThan(log.indexOf(second));
};

describe('the review loop', () => {
  /** Rejects so many times, then approves. */
  const rejecting = (times: number): Work => {
    let left = times;
    return ({ name }, { values }) => {
      if (name !== 'review' || left === 0) return MOVED;
      left -= 1;
      for (const each of ['diff', 'review']) values.set(each, 'pending');
      return { kind: 'invalidated', target: 'diff' };
    };
  };

  test('makes the target again, and all between, until it is approved; then the rest', async () => {
    const world = worldOf(
      { plan: [], diff: ['plan'], lint: ['diff'], review: ['lint'], commit: ['review'] },
      rejecting(4),
    );
    const outcome = await world.run();
    const starts = (name: string): number => world.log.filter((line) => line === `start ${name}`).length;
    expect(['plan', 'diff', 'lint', 'review', 'commit'].map(starts)).toEqual([1, 5, 1, 5, 1]);
    expect(outcome).toMatchObject({ upToDate: 5, wanted: 5 });
    // Judged again, because what it was made from was made again.
    expect(world.judged.filter((name) => name === 'lint')).toHaveLength(5);
  });

  test('makes a diamond below it again once a round', async () => {
    const world = worldOf(
      { diff: [], a: ['diff'], b: ['diff'], review: ['a', 'b'], end: ['review'] },
      rejecting(1),
    );
    await world.run();
    expect(world.log.filter((line) => line.startsWith('start'))).toEqual([
      'start diff',
      'start a',
      'start b',
      'start review',
      'start diff',
      'start review',
      'start end',
    ]);
  });
});

describe('S4: two critics of one diff', () => {
  /** Verdicts by critic and round; each critic ends when its gate is opened. */
  const reviewed = (verdicts: Readonly<Record<string, readonly boolean[]>>, more: Graph = {}) => {
    const gates = new Map(Object.keys(verdicts).map((name) => [name, gate()]));
    const rounds = new Map<string, number>();
    const world = worldOf(
      { diff: [], tests: ['diff'], security: ['diff'], commit: ['tests', 'security'], ...more },
      async ({ name }, { values }) => {
        const list = verdicts[name];
        if (list === undefined) return MOVED;
        const round = rounds.get(name) ?? 0;
        rounds.set(name, round + 1);
        if (round === 0) await gates.get(name)?.opened;
        if (list[round] !== false) return MOVED;
        for (const each of ['diff', name]) values.set(each, 'pending');
        return { kind: 'invalidated', target: 'diff' };
      },
    );
    return { world, open: (name: string) => gates.get(name)?.open() };
  };

  test('when one rejects, the next round waits for the other, whatever that one says', async () => {
    for (const other of [true, false]) {
      const { world, open } = reviewed({ tests: [false], security: [other] });
      const running = world.run();
      await settle();
      open('tests');
      await settle();
      // The builder must not work under the eyes of a critic.
      expect(world.log).toEqual(['start diff', 'end diff', 'start tests', 'start security', 'end tests']);
      open('security');
      expect(await running).toMatchObject({ upToDate: 4 });
      expect(world.log.filter((line) => line === 'start diff')).toHaveLength(2);
      before(world.log, 'end security', 'start commit');
    }
  });

  test('one that approved what went out of date meanwhile frees nothing: it is judged again after the next round', async () => {
    const { world, open } = reviewed({ tests: [false], security: [true] }, { report: ['security'] });
    const running = world.run();
    await settle();
    open('tests');
    await settle();
    open('security');
    expect(await running).toMatchObject({ upToDate: 5 });
    expect(world.log.lastIndexOf('end diff')).toBeLessThan(world.log.indexOf('start report'));
    expect(world.judged.filter((name) => name === 'security')).toHaveLength(2);
  });

  test('one that must try again does so on the next round, not on the diff that went out of date', async () => {
    const failing = gate();
    let attempts = 0;
    const world = worldOf({ diff: [], tests: ['diff'], security: ['diff'] }, async ({ name }, { values }) => {
      if (name === 'security') {
        attempts += 1;
        if (attempts === 1) await failing.opened;
        if (attempts === 1) values.set('security', 'pending');
        return MOVED;
      }
      if (name !== 'tests' || attempts > 1 || values.get('diff') === 'pending') return MOVED;
      if (world.log.filter((line) => line === 'start tests').length > 1) return MOVED;
      for (const each of ['diff', 'tests']) values.set(each, 'pending');
      return { kind: 'invalidated', target: 'diff' };
    });
    const running = world.run();
    await settle();
    failing.open();
    await running;
    const starts = world.log.filter((line) => line.startsWith('start'));
    expect(starts).toEqual([
      'start diff',
      'start tests',
      'start security',
      'start diff',
      'start tests',
      'start security',
    ]);
  });
});
