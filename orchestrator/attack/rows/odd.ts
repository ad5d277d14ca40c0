/** What a tree object cannot hold. */
import type { Step } from '../../../workers/hostile/steps.js';
import { judged, type Play, type Row } from '../play.js';

interface Odd {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly steps: readonly Step[];
}

const ODD: readonly Odd[] = [
  {
    id: '43',
    name: 'file inside a submodule',
    path: 'vendor/lib/evil.js',
    steps: [{ row: '43', do: 'write', path: '{tree}/vendor/lib/evil.js', text: 'evil-43\n' }],
  },
  {
    id: '44',
    name: 'repository inside the tree',
    path: 'nested/.git',
    steps: [
      { row: '44', do: 'git', args: ['init', '--quiet', 'nested'] },
      { row: '44', do: 'write', path: '{tree}/nested/evil.js', text: 'evil-44\n' },
      { row: '44', do: 'git', args: ['-C', 'nested', 'add', 'evil.js'] },
      {
        row: '44',
        do: 'git',
        args: [
          '-C',
          'nested',
          '-c',
          'user.name=W',
          '-c',
          'user.email=w@example.com',
          'commit',
          '--quiet',
          '-m',
          'x',
        ],
      },
    ],
  },
  {
    id: '45',
    name: 'link that leads out of the tree',
    path: 'rows/45',
    steps: [{ row: '45', do: 'link', path: '{tree}/rows/45', to: '{dir}/elsewhere' }],
  },
  {
    id: '47',
    name: 'fifo',
    path: 'rows/47',
    steps: [{ row: '47', do: 'fifo', path: '{tree}/rows/47' }],
  },
];

const rowOf = ({ id, name, path }: Odd): Row => ({
  id,
  name,
  channel: 'file',
  by: 'diff',
  judge: judged({
    id,
    by: 'diff',
    harm: ({ sealed }) => (sealed === undefined ? undefined : 'the work was sealed as if it were not there'),
    refusal: { by: 'T private snapshot', says: new RegExp(`\`${path.replaceAll('.', '\\.')}\``) },
  }),
});

const playOf = (name: string, odd: readonly Odd[]): Play => ({
  name,
  needs: ['diff'],
  until: ['diff'],
  rows: odd.map(rowOf),
  cast: () => ({ diff: [{ after: odd.flatMap(({ steps }) => steps) }] }),
});

/** Links are looked at when everything else is in order: that one is found alone. */
export const oddPlays = (wanted: (id: string) => boolean): readonly Play[] =>
  [
    playOf(
      'odd',
      ODD.filter(({ id }) => id !== '45' && wanted(id)),
    ),
    playOf(
      'leaving',
      ODD.filter(({ id }) => id === '45' && wanted(id)),
    ),
  ].filter(({ rows }) => rows.length > 0);
