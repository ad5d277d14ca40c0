import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { oneLine } from '../model/text.js';
import type { Io } from './io.js';

/** Where a person's answer comes from, for the record: host, terminal, and the other end of an SSH session. */
export const whereFrom = (io: Io): string => {
  const client = /^[0-9A-Fa-f:.]+/.exec(io.env['SSH_CONNECTION'] ?? '')?.[0];
  const parts = [
    `host ${oneLine(hostname(), 80)}`,
    io.stdinIsTty ? terminalName() : 'no terminal',
    ...(client === undefined ? [] : [`ssh from ${client}`]),
  ];
  return parts.join(', ');
};

const terminalName = (): string => {
  try {
    return `terminal ${oneLine(readlinkSync('/proc/self/fd/0'), 80)}`;
  } catch {
    return 'a terminal';
  }
};
