import { closeSync, openSync, readSync } from 'node:fs';
import type { JournalLine } from '../model/event.js';

/** The first line holds document 00; it is far below this. */
const FIRST_LINE_BYTES = 262_144;

/**
 * Which pipeline the run was started with, from the first line of its journal; `undefined` when there is none. Nothing is
 * proved here: the boot that follows checks the line, and a forged one is refused there.
 */
export const peekPipelineFile = (journal: string): string | undefined => {
  let fd: number;
  try {
    fd = openSync(journal, 'r');
  } catch {
    return undefined;
  }
  try {
    const buffer = Buffer.allocUnsafe(FIRST_LINE_BYTES);
    const text = buffer.toString('utf8', 0, readSync(fd, buffer));
    const line = JSON.parse(text.slice(0, text.indexOf('\n'))) as JournalLine;
    return line.event.type === 'run.opened' ? line.event.pipeline.file : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
};
