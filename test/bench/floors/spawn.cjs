// The floor under running commands: node spawn.cjs COMMANDS.json JOBS [JOURNAL]
// Spawns each command of the list with `/bin/sh -c`, so many at a time, the last one (the join) when all others have ended.
// With JOURNAL it appends one line and calls fdatasync at each start and each end, as a runner must that can be killed.
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');

const [file, jobs, journal] = process.argv.slice(2);
const commands = JSON.parse(fs.readFileSync(file, 'utf8'));
const fd = journal === undefined ? undefined : fs.openSync(journal, 'a');

const record = (type, index) => {
  if (fd === undefined) return;
  fs.writeSync(fd, `${JSON.stringify({ type, index, at: new Date().toISOString() })}\n`);
  fs.fdatasyncSync(fd);
};

const run = (index) =>
  new Promise((settle, reject) => {
    record('started', index);
    const child = spawn('/bin/sh', ['-c', commands[index]], { stdio: 'ignore' });
    child.on('error', reject);
    child.on('exit', (code) => {
      if (code !== 0) reject(new Error(`${commands[index]}: ${code}`));
      record('done', index);
      settle();
    });
  });

const main = async () => {
  let next = 0;
  const last = commands.length - 1;
  const lane = async () => {
    while (next < last) await run(next++);
  };
  await Promise.all(Array.from({ length: Number(jobs) }, lane));
  await run(last);
};

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
