// The floor under a child that prints much: node output.cjs file|pipe-file COMMAND LOG
// file: the log is the child's own standard output. pipe-file: the parent reads a pipe, writes the log and shows it too.
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');

const [mode, command, log] = process.argv.slice(2);

if (mode === 'file') {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', fs.openSync(log, 'w'), 'ignore'] });
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
} else {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.pipe(fs.createWriteStream(log));
  child.stdout.pipe(process.stdout);
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}
