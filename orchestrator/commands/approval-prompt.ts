import pLimit from 'p-limit';
import type { AskApproval } from '../effects/ticket-run.js';
import { isHiding, quoteExactly } from '../model/text.js';
import type { Io } from './io.js';
import type { Session } from './session.js';

/** One question at a time, however many tickets run. */
const oneAtATime = pLimit(1);

const HIDING =
  'note: there are characters in it that a terminal acts on or does not show; they are written as \\u{…} or \\r';

/** The bytes that an answer is for, for the person who is to give it; and a word about what a reader would not have seen. */
export const bytesToApprove = (io: Io, text: string): string => {
  const shown = quoteExactly(text, io.columns);
  return isHiding(text) ? `${shown}\n\n${HIDING}` : shown;
};

/** Asks the person at the terminal; `undefined` where there is none. Only the word `approve` approves. */
export const terminalApproval = (
  session: Session,
  ticket: string,
  /** Who could have typed the answer instead, besides the workers of this run. */
  exposed: () => Promise<string | undefined>,
): AskApproval | undefined => {
  const { io, request } = session;
  if (!io.stdinIsTty || !io.stderrIsTty || request.json) return undefined;
  return ({ target, digest, text }) =>
    oneAtATime(async () => {
      io.stderr(
        `\nticket ${ticket} asks for your approval of \`${target}\`, ${digest}:\n\n${bytesToApprove(io, text)}\n\n`,
      );
      for (;;) {
        const answer = (
          await io.ask('type "approve", "reject: WHY", or press Enter to decide later: ')
        )?.trim();
        if (answer === undefined || answer === '') return undefined;
        const other = await exposed();
        if (other !== undefined) {
          io.stderr(`the answer does not count: ${other}; answer when it has ended\n`);
          return undefined;
        }
        if (answer === 'approve') return { answer: 'approved', note: '' };
        const why = /^reject:\s*(\S.*)$/.exec(answer)?.[1];
        if (why !== undefined) return { answer: 'rejected', note: why };
        io.stderr('neither "approve" nor "reject: WHY"; nothing was recorded\n');
      }
    });
};
