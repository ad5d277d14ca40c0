import { homedir } from 'node:os';
import { attack as play, rowIds, type Line, type Report } from '../attack/attack.js';
import type { Arena } from '../attack/arena.js';
import type { Question } from '../attack/drive.js';
import { Problem } from '../model/failure.js';
import { createSuggest } from '../model/suggest.js';
import { printJson, type Io } from './io.js';
import { table } from './paint.js';
import { refuseWorkers } from './refuse-workers.js';
import { flagSet, flagText, pipelineFor, repositoryOf, type Session } from './session.js';

/**
 * `attack`: hostile workers in the place of this pipeline's own, in throw-away repositories. 0 when everything that applies was
 * refused, 1 when something got through.
 */
export const attack = async (session: Session): Promise<number> => {
  refuseWorkers(session, 'an attack run');
  const paths = repositoryOf(session);
  const { pipeline } = await pipelineFor(session, paths);
  const only = rowsOf(flagText(session, 'only'));
  const { io, packageRoot } = session;
  const keep = flagSet(session, 'keep');
  const report = await play({
    pipeline,
    packageRoot,
    root: paths.mainRoot,
    home: io.env['HOME'] ?? homedir(),
    path: io.env['PATH'] ?? '/usr/bin:/bin',
    approve: (arena, question) => approve(session, arena, question),
    keep,
    ...(only === undefined ? {} : { only }),
  });
  if (session.request.json) printJson(io, jsonOf(report, keep));
  else io.stdout(textOf(report, keep));
  return report.lines.some(({ result }) => result === 'got through') ? 1 : 0;
};

/** Without its letter a row stands for all that begin so: `16` for `16a` and `16b`. */
const meantBy = (asked: string, known: readonly string[]): readonly string[] =>
  known.includes(asked) ? [asked] : known.filter((id) => /^\w+[a-z]$/.test(id) && id.slice(0, -1) === asked);

/** @throws `Problem` `usage` for a row that there is not */
export const rowsOf = (text: string | undefined): ReadonlySet<string> | undefined => {
  if (text === undefined) return undefined;
  const known = rowIds();
  const asked = text.split(',').map((id) => id.trim());
  const unknown = asked.find((id) => meantBy(id, known).length === 0);
  if (unknown === undefined) return new Set(asked.flatMap((id) => meantBy(id, known)));
  const near = createSuggest()(unknown, known);
  throw new Problem({
    kind: 'usage',
    message: `there is no row \`${unknown}\``,
    next: near === undefined ? `the rows are ${known.join(', ')}` : `did you mean \`${near}\`?`,
  });
};

const SILENT: Pick<Io, 'stdout' | 'stderr'> = { stdout: () => undefined, stderr: () => undefined };

/** What the person would type, in the place of the arena. */
const approve = async (session: Session, arena: Arena, question: Question): Promise<boolean> => {
  const { decide } = await import('./decide.js');
  const { ticket, target, digest } = question;
  try {
    const code = await decide(
      {
        ...session,
        io: { ...session.io, ...SILENT, env: arena.env },
        cwd: arena.repo,
        home: arena.own,
        request: { directories: [], json: false, tickets: [ticket], target, flags: { digest } },
      },
      'approved',
    );
    return code === 0;
  } catch (error) {
    // Another answer was faster, or the ticket is in use: what became of it is in its record.
    if (error instanceof Problem) return false;
    throw error;
  }
};

const countOf = (lines: readonly Line[], wanted: Line['result']): number =>
  lines.filter(({ result }) => result === wanted).length;

const tiersOf = (lines: readonly Line[]): readonly string[] => [
  ...new Set(lines.flatMap(({ tier }) => tier ?? [])),
];

/** What the tiers that were met here cannot do. */
const LIMITS = {
  'same-user':
    'Workers ran as you, without a sandbox. What they do to the record, to git and to the reviewed tree is found when they end, and refused; it is ' +
    'not prevented. A process that hides from its worker can read what you can read (the seal key, the environment of the orchestrator), approve as ' +
    'you, and write a record that holds. Install bubblewrap, or run as a user of its own, to close that.',
  sandbox:
    'Workers ran in a sandbox: they see what they are given and nothing of the record, and what they start ends with them. With the network on they ' +
    'reach what listens on this machine.',
} as const;

const EVERYWHERE =
  'In no tier is a critic proof against being persuaded or against overlooking what it was shown: let a second one of another model review, and let ' +
  'checks decide what checks can decide.';

const paragraph = (lines: readonly Line[]): string =>
  [
    ...(['same-user', 'sandbox'] as const)
      .filter((tier) => tiersOf(lines).includes(tier))
      .map((tier) => LIMITS[tier]),
    EVERYWHERE,
  ].join(' ');

const WIDTH = 100;

const wrapped = (text: string): string => {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length >= WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
};

const summaryOf = (lines: readonly Line[]): string => {
  const through = countOf(lines, 'got through');
  const parts = [
    `${countOf(lines, 'refused')} refused`,
    `${through} got through`,
    `${countOf(lines, 'not stopped in this tier')} not stopped in this tier`,
    `${countOf(lines, 'not applicable')} not applicable`,
  ];
  return `${lines.length} attacks: ${parts.join(', ')}`;
};

const textOf = ({ lines, dir }: Report, keep: boolean): string => {
  const head = ['row', 'attack', 'channel', 'tier', 'result', 'refused by', 'reason'];
  const rows = lines.map(({ id, name, channel, tier, result, by, reason }) => [
    id,
    name,
    channel,
    tier ?? '–',
    result,
    by === '' ? '–' : by,
    reason,
  ]);
  const kept = keep ? `\nThe throw-away repositories are in ${dir}\n` : '';
  return `${table([head, ...rows])}\n\n${summaryOf(lines)}\n\n${wrapped(paragraph(lines))}\n${kept}`;
};

const jsonOf = ({ lines, dir }: Report, keep: boolean): unknown => ({
  passed: countOf(lines, 'got through') === 0,
  tiers: tiersOf(lines),
  counts: {
    refused: countOf(lines, 'refused'),
    gotThrough: countOf(lines, 'got through'),
    notStopped: countOf(lines, 'not stopped in this tier'),
    notApplicable: countOf(lines, 'not applicable'),
  },
  attacks: lines,
  limits: paragraph(lines),
  ...(keep ? { dir } : {}),
});
