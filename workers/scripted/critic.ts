import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Assignment, Page } from './assignment.js';
import { withWritableCopy } from './copy-tree.js';
import { applyEdits } from './edits.js';
import type { Returned, ReturnedVerdict } from './returned.js';
import { runCommand, type CommandResult } from './run-command.js';
import type { Probe, ReviewScript } from './script.js';
import { WorkerError } from './worker-error.js';

interface ProbeResult {
  readonly probe: Probe;
  readonly holds: boolean;
  readonly result: CommandResult;
}

/** Reads every byte of a page. False when it is gone or is not the page that was named. */
const isAsNamed = ({ path, digest }: Page): boolean => {
  try {
    return `sha256:${createHash('sha256').update(readFileSync(path)).digest('hex')}` === digest;
  } catch {
    return false;
  }
};

/** The frozen checkout is read-only, so a probe runs on a copy; each has its own. */
const tryProbe = ({ tree, out }: Assignment, probe: Probe): ProbeResult =>
  withWritableCopy(tree, out, (copy) => {
    applyEdits(copy, probe.edits);
    const result = runCommand(probe.run, copy);
    if (result.outcome === 'not-started') throw new WorkerError(`probe \`${probe.claim}\`: ${result.how}`);
    return { probe, result, holds: (result.outcome === 'passed') === (probe.expect === 'pass') };
  });

const blockerOf = ({ probe, result }: ProbeResult): ReturnedVerdict['blockers'][number] => ({
  title: probe.blocker,
  ...(probe.path === undefined ? {} : { path: probe.path }),
  detail: [
    `\`${probe.run.join(' ')}\` on the frozen bytes: ${result.how}, expected to ${probe.expect}`,
    ...result.tail,
  ].join('\n'),
});

const pillarsOf = (
  pillars: readonly string[],
  results: readonly ProbeResult[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    pillars.map((pillar) => {
      const findings = results.filter(({ probe, holds }) => !holds && probe.pillar === pillar);
      return [pillar, findings.length === 0 ? 'none' : findings.map(({ probe }) => probe.blocker).join('; ')];
    }),
  );

const alteredPages = (assignment: Assignment, nonce: string, pages: readonly string[]): Returned => ({
  status: 'blocked',
  summary: [
    `${assignment.pages.length - pages.length} of ${assignment.pages.length} pages of branch.diff are not the bytes that the prompt names`,
    'nothing was reviewed',
  ],
  verdict: {
    verdict: 'REJECTED',
    nonce,
    blockers: [
      {
        title: 'a page of branch.diff is not the bytes that the prompt names',
        detail: 'the digest of the file differs from the digest in the prompt, or the file is gone',
      },
    ],
    pillars: Object.fromEntries(assignment.pillars.map((pillar) => [pillar, 'not reviewed'])),
    dismissed: [],
    deadEnds: [],
    pages,
  },
});

/** Reads every page, runs every probe of the pillars that it was given, and approves exactly when all hold. */
export const review = (assignment: Assignment, { probes }: ReviewScript): Returned => {
  const { nonce, pages, pillars } = assignment;
  if (nonce === undefined)
    throw new WorkerError('the prompt of a review has no `nonce:` line behind `# Assignment`');
  const read = pages.filter(isAsNamed).map(({ digest }) => digest);
  if (read.length < pages.length) return alteredPages(assignment, nonce, read);

  const results = probes
    .filter(({ pillar }) => pillars.includes(pillar))
    .map((probe) => tryProbe(assignment, probe));
  const failed = results.filter(({ holds }) => !holds);
  const held = results.filter(({ holds }) => holds);
  const verdict = failed.length === 0 ? 'APPROVED' : 'REJECTED';
  return {
    status: 'done',
    summary: [
      `${verdict}: read ${read.length} pages, ran ${results.length} probes on a copy of the frozen bytes, ${failed.length} failed`,
      ...failed.map(({ probe }) => `blocker: ${probe.blocker}`),
      ...held.map(({ probe, result }) => `held: ${probe.claim} (${result.how}, as expected)`),
    ],
    verdict: {
      verdict,
      nonce,
      blockers: failed.map(blockerOf),
      pillars: pillarsOf(pillars, results),
      dismissed: held.flatMap(({ probe }) => (probe.dismissed === undefined ? [] : [probe.dismissed])),
      deadEnds: failed.flatMap(({ probe }) => (probe.deadEnd === undefined ? [] : [probe.deadEnd])),
      pages: read,
    },
  };
};
