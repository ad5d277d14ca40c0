/** What a builder can leave in git for the moment when its work is committed and pushed. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from '../../../workers/hostile/steps.js';
import { DECOY } from '../names.js';
import { deedsOf, isUnnoticed, judged, type Play, type Row } from '../play.js';
import type { Seen } from '../seen.js';

/** As `gpg`, it makes git believe that it has signed. */
const SIGNATURE = `cat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\necho '-----BEGIN PGP SIGNATURE-----'\n`;

const script = (row: string, path: string, more = ''): readonly Step[] => [
  { row, do: 'write', path, text: `#!/bin/sh\n: >{dir}/flags/${row}\n${more}exit 0\n` },
  { row, do: 'chmod', path, mode: 0o755 },
];

const config = (row: string, name: string, value: string): Step => ({
  row,
  do: 'git',
  args: ['config', name, value],
});

const HOOKS = ['pre-commit', 'post-commit', 'reference-transaction', 'pre-push'] as const;

const wasRun = ({ arena }: Seen, row: string): boolean => existsSync(join(arena.dir, 'flags', row));

const branchOf = ({ subject, ticket }: Seen): string =>
  `refs/heads/${subject.pipeline.settings.branch.replaceAll('{ticket}', ticket)}`;

const inDecoy = (seen: Seen): boolean => {
  const { dir } = seen.arena;
  return existsSync(join(dir, DECOY, branchOf(seen)));
};

interface Trap {
  readonly id: string;
  readonly name: string;
  readonly steps: readonly Step[];
  readonly harm: (seen: Seen) => string | undefined;
}

const TRAPS: readonly Trap[] = [
  {
    id: '52',
    name: 'hooks in the clone: pre-commit, post-commit, reference-transaction, pre-push',
    steps: HOOKS.flatMap((hook) => script('52', `{tree}/.git/hooks/${hook}`)),
    harm: (seen) => (wasRun(seen, '52') ? 'a hook of the worker was run' : undefined),
  },
  {
    id: '53',
    name: 'programs that git calls: gpg, editor, ssh',
    steps: [
      ...script('53', '{tree}/.git/tool', SIGNATURE),
      config('53', 'commit.gpgSign', 'true'),
      config('53', 'gpg.program', '{tree}/.git/tool'),
      config('53', 'core.editor', '{tree}/.git/tool'),
      config('53', 'core.sshCommand', '{tree}/.git/tool'),
    ],
    harm: (seen) => (wasRun(seen, '53') ? 'a program of the worker was run' : undefined),
  },
  {
    id: '54',
    name: 'push redirected: insteadOf, pushurl, refspec',
    steps: [
      config('54', 'url.{dir}/decoy.git.insteadOf', '{repo}/.git/origin.git'),
      config('54', 'remote.origin.url', '{repo}/.git/origin.git'),
      config('54', 'remote.origin.pushurl', '{dir}/decoy.git'),
    ],
    harm: (seen) => (inDecoy(seen) ? 'the work was pushed somewhere else' : undefined),
  },
];

/** The honest work goes all the way, and nothing of the clone has a part in it. */
const shipped = (seen: Seen) => {
  const { committed, sealed, pushed } = seen;
  const arrived = committed !== undefined && committed === sealed?.tree && pushed;
  return arrived
    ? {
        by: 'T private store, frozen URL',
        reason: 'the reviewed tree is on the remote, and nothing of the clone was run or asked',
      }
    : undefined;
};

const rowOf = ({ id, name, harm }: Trap): Row => ({
  id,
  name,
  channel: 'git',
  by: 'diff',
  judge: judged({ id, by: 'diff', harm, refusal: shipped }),
});

const ship: Play = {
  name: 'ship',
  needs: ['diff', 'review', 'commit', 'push'],
  until: ['push'],
  rows: TRAPS.map(rowOf),
  cast: () => ({ diff: [{ after: TRAPS.flatMap(({ steps }) => steps) }] }),
};

interface Shared {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly steps: readonly Step[];
}

const SHARED: readonly Shared[] = [
  {
    id: '57',
    name: "hooks and configuration of the person's own repository",
    path: 'config',
    steps: [
      {
        row: '57',
        do: 'write',
        path: '{repo}/.git/config',
        text: '[core]\n\thooksPath = .git/evil-57\n',
        append: true,
      },
      { row: '57', do: 'write', path: '{repo}/.git/hooks/reference-transaction', text: '#!/bin/sh\n' },
    ],
  },
  {
    id: '55',
    name: "merge driver in the person's info/attributes",
    path: 'info/attributes',
    steps: [{ row: '55', do: 'write', path: '{repo}/.git/info/attributes', text: '* merge=evil-55\n' }],
  },
];

const isChanged = ({ arena }: Seen, { path, id }: Shared): boolean => {
  const file = join(arena.repo, '.git', path);
  return existsSync(file) && readFileSync(file, 'utf8').includes(`evil-${id}`);
};

const administration: Play = {
  name: 'administration',
  needs: ['diff', 'review'],
  until: ['review', 'push'],
  alone: true,
  rows: SHARED.map((shared) => ({
    id: shared.id,
    name: shared.name,
    channel: 'git',
    by: 'diff',
    judge: judged({
      id: shared.id,
      by: 'diff',
      reached: (seen) => isChanged(seen, shared),
      harm: (seen) =>
        isChanged(seen, shared) && isUnnoticed(seen) ? 'it was changed, and the run went on' : undefined,
      refusal: {
        by: 'S fingerprint of the administration',
        says: new RegExp(`changed while a child was running.*/\\.git/${shared.path}\``),
      },
    }),
  })),
  cast: () => ({ diff: [{ after: SHARED.flatMap(({ steps }) => steps) }] }),
};

const poisoned: Play = {
  name: 'poisoned',
  needs: ['diff'],
  until: ['diff'],
  rows: [
    {
      id: '41',
      name: 'false object in the private store',
      channel: 'git',
      by: 'diff',
      judge: judged({
        id: '41',
        by: 'diff',
        harm: (seen) =>
          seen.sealed !== undefined && deedsOf(seen, '41').some(({ outcome }) => outcome === 'done')
            ? 'the work was sealed over a false object'
            : undefined,
        refusal: { by: 'T object ids computed again', says: /not what their ids say/ },
      }),
    },
  ],
  cast: () => ({
    diff: [
      {
        after: [
          {
            row: '41',
            do: 'poison',
            path: 'rows/41.txt',
            text: 'what lies in the tree\n',
            lie: 'what is in the store\n',
          },
        ],
      },
    ],
  }),
};

export const shipPlays: readonly Play[] = [ship, administration, poisoned];
