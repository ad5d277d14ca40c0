/** Each defence as the text that makes it, and the attacks that only this text stops: verdicts, processes, the record, people. */
import { OBJECTS } from './git-defences.js';
import { piece, type Twin } from './twin.js';

const NONCE = piece(
  'gates/verdict.ts',
  `...(verdict.nonce === nonce ? [] : ["wrong-nonce: the verdict does not carry this round's nonce"]),`,
  '',
);

const NO_SANDBOX = piece('effects/containment.ts', 'if (found === undefined) return argv;', 'return argv;');

const UNTOUCHED = piece('effects/fork.ts', '      run.recorder.requireUntouched();\n', '');

const ADMINISTRATION = piece(
  'effects/worker.ts',
  'const changed = changedAdministration(run, context.administration, tierOf(context));',
  'const changed = undefined as ReturnType<typeof changedAdministration>;',
);

const RESIDENT = piece(
  'effects/worker.ts',
  'const changed = changedResident(run, target) ?? changedProgram(run, spec);',
  'const changed = changedProgram(run, spec);',
);

const PROGRAM = piece('effects/worker.ts', ' ?? changedProgram(run, spec);', ';');

const LOST = piece(
  'process/reattach.ts',
  "return { end: { kind: 'lost', detail },",
  "return { end: { kind: 'exited', code: 0 },",
);

const TWO_VERDICTS = piece('effects/worker-output.ts', 'verdicts > 1', 'verdicts > 9');

export const RECORD_TWINS: readonly Twin[] = [
  { name: 'N nonce', pieces: [NONCE], rows: ['V3b', '6', '7', 'V4b'] },
  {
    name: 'G contradiction',
    pieces: [
      piece(
        'process/return-schema.ts',
        "if (given.verdict === 'APPROVED' && blockers > 0)",
        'if (blockers < 0)',
      ),
      piece(
        'gates/verdict.ts',
        "if (verdict === 'APPROVED' && blockers.length > 0)",
        'if (blockers.length < 0)',
      ),
    ],
    rows: ['8a'],
  },
  {
    name: 'G one value a key',
    pieces: [piece('process/return-file.ts', 'if (repeated !== undefined)', "if (repeated === '')")],
    rows: ['8b'],
  },
  { name: 'G one verdict', pieces: [TWO_VERDICTS], rows: ['8c'] },
  {
    name: 'G plain letters',
    pieces: [
      piece(
        'process/return-schema.ts',
        `verdict: z.enum(
    ['APPROVED', 'REJECTED'],
    'must be exactly \`APPROVED\` or \`REJECTED\`, in plain ASCII letters',
  ),`,
        "verdict: z.preprocess((text) => String(text).normalize('NFKC').replaceAll(/[^A-Z]/g, ''), z.enum(['APPROVED', 'REJECTED'])),",
      ),
    ],
    rows: ['9'],
  },
  {
    name: 'G last line',
    pieces: [
      piece(
        'effects/worker-output.ts',
        "if (line.trim() === '') return;",
        "if (!line.includes('{')) return;",
      ),
    ],
    rows: ['10'],
  },
  {
    name: 'W exit status',
    pieces: [
      piece(
        'process/wait.ts',
        'return statusOf(child, { end: reason, endedAt: last.endedAt }, leftovers);',
        "return statusOf(child, { end: { kind: 'exited', code: 0 }, endedAt: last.endedAt }, leftovers);",
      ),
    ],
    rows: ['V4a', '13a'],
  },
  {
    name: 'W reasons of a child',
    pieces: [
      piece('process/wait.ts', "return ours && told?.kind !== 'stopped' ? undefined : told;", 'return told;'),
    ],
    rows: ['13c'],
  },
  {
    name: 'F fail closed',
    pieces: [
      piece(
        'effects/worker-output.ts',
        ': await checkReturnText(last, { makes: target.makes, what });',
        ": last === '' ? { ok: true, value: { status: 'done', summary: [] } } : await checkReturnText(last, { makes: target.makes, what });",
      ),
      piece(
        'gates/verdict.ts',
        "if (verdict === undefined) return { kind: 'refused', reasons: ['no-verdict: the critic returned none'] };",
        "if (verdict === undefined) return { kind: 'approved' };",
      ),
    ],
    rows: ['13b'],
  },
  {
    name: 'T every page',
    pieces: [piece('gates/verdict.ts', '    ...missingPages(verdict, reviewed),\n', '')],
    rows: ['49'],
  },
  {
    name: 'G every pillar',
    pieces: [piece('gates/verdict.ts', '    ...missingPillars(verdict, subject.pillars),\n', '')],
    rows: ['56a'],
  },
  {
    name: 'P return only from the critic',
    pieces: [
      NONCE,
      piece(
        'effects/return-channel.ts',
        "const socket = target.makes === 'review' && !sandboxed;",
        'const socket = false;',
      ),
      piece('effects/worker-request.ts', "`return-${randomBytes(12).toString('hex')}.json`", "'return.json'"),
    ],
    rows: ['1'],
  },
  { name: 'W a known end', pieces: [NONCE, LOST], rows: ['11'] },
  {
    name: 'W socket pair',
    pieces: [
      piece(
        'process/child-folder.ts',
        "const stdout = request.output === 'socket' ? 'pipe' : log;",
        'const stdout = log;',
      ),
      piece('process/fork.ts', "if (output === 'socket')", 'if (dir === reaper.toString())'),
      TWO_VERDICTS,
    ],
    rows: ['14', '15'],
  },
  {
    name: 'W live child handle',
    pieces: [
      piece(
        'effects/worker.ts',
        'socket: intended.socket || isUnheard',
        'socket: intended.socket && isUnheard',
      ),
    ],
    rows: ['12'],
  },
  {
    name: 'W containment',
    pieces: [
      piece(
        'process/wait.ts',
        'if (!thorough && !groupExists(child.identity)) return 0;',
        'return thorough ? 0 : 0;',
      ),
      piece('effects/freeze.ts', 'if (building !== undefined) return { failure: building };', ''),
    ],
    rows: ['16a'],
  },
  {
    name: 'W end without the pipe',
    pieces: [
      piece(
        'process/fork.ts',
        "reaper.once('exit', (code, signal) => {",
        "reaper.once('close', (code, signal) => {",
      ),
    ],
    rows: ['17'],
  },
  {
    name: 'T the reviewed tree, at the review and at the commit',
    pieces: [
      piece(
        'effects/freeze.ts',
        "if (receiptState(receipt, now.value.receipt) !== 'current') {",
        'if (now.value === undefined) {',
      ),
      piece(
        'gates/verdict.ts',
        "if (binding !== 'current') reasons.push(",
        'if (binding === undefined) reasons.push(',
      ),
      piece(
        'builtins/evidence.ts',
        "if (state === 'current') return bound;",
        "if (state !== 'unbindable') return bound;",
      ),
      piece(
        'effects/git-ship.ts',
        'tree: receipt.tree, parents: [base], message,',
        "tree: (await (await import('../git/git.js')).runForText(git, { args: ['write-tree'], gitDir: store.path, indexFile: context.index }) as { value: string }).value, parents: [base], message,",
      ),
    ],
    rows: ['V2', '3', '5', '16b'],
  },
  {
    name: 'T rejected bytes stay rejected',
    pieces: [
      piece(
        'effects/judge.ts',
        '    if (rejected !== undefined) return recordFailure(run, target, rejected);\n',
        '',
      ),
    ],
    rows: ['V3a'],
  },
  {
    name: 'P parent-only writer',
    pieces: [UNTOUCHED],
    rows: ['V1', '2', '22', '24a', '24b'],
    pipeline: 'planned',
  },
  {
    name: 'S allowlist of variables',
    pieces: [
      piece(
        'process/child-env.ts',
        'if (value !== undefined && passes(name)) env[name] = value;',
        'if (value !== undefined) env[name] = value;',
      ),
    ],
    rows: ['18'],
  },
  {
    name: 'S sandbox',
    pieces: [NO_SANDBOX],
    rows: ['19', '20', '22b', '21c', '21d'],
    tier: 'sandbox',
    pipeline: 'planned',
  },
  {
    name: 'S sandbox, and what finds it afterwards',
    pieces: [
      NO_SANDBOX,
      UNTOUCHED,
      ADMINISTRATION,
      piece(
        'effects/worker.ts',
        'changedResident(run, target) ?? changedProgram(run, spec)',
        'undefined as ReturnType<typeof changedResident>',
      ),
      OBJECTS,
    ],
    rows: ['V1', '2', '22', '24a', '24b', '26', '27a', '27b', '41', '55', '57'],
    tier: 'sandbox',
    pipeline: 'planned',
  },
  { name: 'S fingerprint', pieces: [ADMINISTRATION], rows: ['26', '55', '57'] },
  { name: 'P digest of the manual', pieces: [ADMINISTRATION, RESIDENT], rows: ['27a'], pipeline: 'planned' },
  { name: 'P program fixed at the start', pieces: [PROGRAM], rows: ['27b'] },
  {
    name: 'H human channel',
    pieces: [
      piece(
        'commands/refuse-workers.ts',
        'if (session.io.env[MARKER] === undefined && markerOfAncestors() === undefined) return;',
        "if (session.io.env[MARKER] !== '') return;",
      ),
      piece(
        'commands/decide.ts',
        '    requireNoExposedWorker({ mainRoot: paths.mainRoot, directory, run: booted.run, key });\n',
        '',
      ),
    ],
    rows: ['21a', '21b', '21c'],
    pipeline: 'planned',
  },
  {
    name: 'G ticket ids',
    pieces: [piece('model/ticket.ts', '  TICKET_ID.test(text) &&\n', "  text !== '' ||\n")],
    rows: ['23'],
    pipeline: 'planned',
  },
  {
    name: 'G branch names',
    pieces: [piece('pipeline/git-names.ts', "  text !== 'HEAD' &&\n", "  text !== 'HEAD' ||\n")],
    rows: ['25'],
  },
  {
    name: 'C clean checkout',
    pieces: [
      piece(
        'effects/check-gate.ts',
        'if (receipt === undefined) return { folder: workFolder(run), read: [] };',
        "if (receipt?.tree !== '') return { folder: workFolder(run), read: [] };",
      ),
    ],
    rows: ['32b'],
    pipeline: 'checked',
  },
];
