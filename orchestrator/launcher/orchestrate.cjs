#!/usr/bin/env node
// The binary. Any Node since 8 parses this file, so that an old one says what is wrong instead of a syntax error;
// what newer syntax needs comes from `require`, after the check.
'use strict';

var NEEDED = [20, 19];
var found = process.versions.node.split('.').map(Number);

if (found[0] > NEEDED[0] || (found[0] === NEEDED[0] && found[1] >= NEEDED[1])) {
  require('./start.ts');
} else {
  process.stderr.write(
    'orchestrate: Node ' +
      NEEDED.join('.') +
      ' or newer is needed, this is ' +
      process.versions.node +
      '\n' +
      '  next: install a newer Node (https://nodejs.org) and run the command again\n',
  );
  process.exitCode = 2;
}
