/** Names that come from outside: no worker takes part. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeTicket, type Arena } from '../arena.js';
import { call } from '../drive.js';
import type { Outcome, Play } from '../play.js';
import type { Seen } from '../seen.js';

const NAMES = ['../../escape', '/escape', '.', `${'x'.repeat(300)}`, 'con'] as const;

const byCalls = (seen: Seen, by: string): Outcome => {
  const bad = seen.calls.find(({ code }) => code !== 2);
  if (bad !== undefined)
    return {
      result: 'got through',
      reason: `exit ${bad.code ?? 'without a status'}: it was not refused as usage`,
    };
  const lines = seen.calls[0]?.failure?.message.split('\n') ?? [];
  return {
    result: 'refused',
    by,
    reason: lines.find((line) => /not allowed|`branch`/.test(line)) ?? 'exit 2',
  };
};

const names: Play = {
  name: 'names',
  needs: [],
  rows: [
    {
      id: '23',
      name: 'ticket ids that lead out of the state folder',
      channel: 'arguments',
      by: 'diff',
      judge: (seen) =>
        existsSync(join(seen.arena.dir, 'escape')) || existsSync(join(seen.arena.repo, 'escape'))
          ? { result: 'got through', reason: 'a run directory was made outside of the state folder' }
          : byCalls(seen, 'G strict pattern'),
    },
  ],
  cast: () => ({}),
  calls: (arena) => {
    // There is a ticket of that name, so that nothing but the name is wrong.
    writeTicket(arena, '../../escape');
    return Promise.all(NAMES.map((name) => call(arena, ['run', '--json', '--ticket', name])));
  },
};

const BRANCHES = ['--upload-pack=evil/{ticket}', '{ticket}..evil', '{ticket}:refs/heads/main'] as const;

const branches: Play = {
  name: 'branches',
  needs: [],
  rows: [
    {
      id: '25',
      name: 'branch names that git takes for options or refspecs',
      channel: 'pipeline',
      by: 'diff',
      judge: (seen) => byCalls(seen, 'G check-ref-format'),
    },
  ],
  cast: () => ({}),
  calls: (arena) =>
    Promise.all(
      BRANCHES.map((branch, index) =>
        call(arena, ['run', '--json', '--ticket', '1', '--file', branchFile(arena, branch, index)]),
      ),
    ),
};

const branchFile = ({ dir }: Arena, branch: string, index: number): string => {
  const path = join(dir, `branch-${index}.yaml`);
  writeFileSync(
    path,
    `name: branch\nbranch: ${JSON.stringify(branch)}\ntargets: { one: { command: [echo, one] } }\n`,
  );
  return path;
};

export const outsidePlays: readonly Play[] = [names, branches];
