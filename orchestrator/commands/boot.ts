import { STATE_TOKENS } from '../model/limits.js';
import { cleanText, estimateTokens, quote, visibleLine } from '../model/text.js';
import { changeLine, changesSinceOpened } from '../record/source-changes.js';
import { readDirectives } from '../state/inbox.js';
import { DOCUMENTS } from '../state/run-dir.js';
import { printJson } from './io.js';
import { bootRun } from './boot-run.js';
import { existingRun, oneTicket, repositoryOf, type Session } from './session.js';

/** Its lines at column 0 are ours. Of a file that we did not name none is. */
const isOurs = (name: string): boolean => (DOCUMENTS as readonly string[]).includes(name);

/** `boot`: Target 0 by hand. Reads, checks and prints 00 → 99, then the directives that no boot has read. Writes nothing. */
export const bootCommand = (session: Session): number => {
  const paths = repositoryOf(session);
  const directory = existingRun(session, paths, oneTicket(session));
  const booted = bootRun(session, directory);
  const read = new Set(booted.run.directivesRead.map(({ id }) => id));
  const unread = readDirectives(directory.inbox).filter(({ id }) => !read.has(id));
  const bytes = booted.documents.reduce((sum, document) => sum + document.bytes.length, 0);
  const tokens = estimateTokens(bytes);
  const changes = changesSinceOpened(booted.run);
  if (session.request.json) {
    printJson(session.io, {
      ticket: directory.ticket,
      documents: booted.documents.map(({ name, text }) => ({ name, text })),
      directives: unread.map(({ id, text, digest }) => ({ id, text, digest })),
      pipelineChanges: changes,
      tokens,
    });
    return 0;
  }
  for (const { name, text } of booted.documents)
    session.io.stdout(
      `==> ${visibleLine(name)} <==\n${isOurs(name) ? cleanText(text).trimEnd() : quote(text)}\n\n`,
    );
  for (const { id, text } of unread)
    session.io.stdout(`==> inbox/${String(id).padStart(4, '0')}.md (unread) <==\n${quote(text)}\n\n`);
  for (const change of changes)
    session.io.stdout(`changed since 00 was written: ${visibleLine(changeLine(change))}\n`);
  session.io.stdout(
    `≈ ${tokens} tokens in ${booted.documents.length} documents, ${unread.length} unread directives\n`,
  );
  const largest = booted.documents.toSorted((a, b) => b.bytes.length - a.bytes.length)[0];
  if (tokens > STATE_TOKENS && largest !== undefined) {
    session.io.stderr(
      `warning: the state is above ${STATE_TOKENS} tokens; the largest document is \`${visibleLine(largest.name)}\`\n`,
    );
  }
  return 0;
};
