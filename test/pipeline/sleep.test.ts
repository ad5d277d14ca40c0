import { describe, expect, test } from 'vitest';

import { commandsIn } from '../../orchestrator/pipeline/shell-words.js';
import { sleepIn } from '../../orchestrator/pipeline/sleep.js';

const shell = (text: string): readonly string[] => ['/bin/sh', '-c', text];

describe('a recipe that only lets time pass is found', () => {
  test.each([
    ['sleep 5'],
    ['/bin/sleep 5'],
    ['"sleep" 5'],
    ["sl'ee'p 5"],
    ['s\\leep 5'],
    ['x && sleep 5'],
    ['x; sleep 5'],
    ['x & sleep 5'],
    ['x || sleep 5'],
    ['x | sleep 5'],
    ['x\nsleep 5'],
    ['(cd y; sleep 5)'],
    ['{ sleep 5; }'],
    ['! sleep 5'],
    ['A=1 B=2 sleep 5'],
    ['>log sleep 5'],
    ['2>&1 sleep 5'],
    ['sleep 5 >/dev/null 2>&1'],
    ['if true; then sleep 5; fi'],
    ['while ! curl -s x; do sleep 1; done'],
    ['for i in 1 2 3; do sleep 1; done'],
    ['case $x in a) sleep 5;; esac'],
    ['f() { sleep 5; }; f'],
    ['echo $(sleep 5)'],
    ['echo "a $(sleep 5) b"'],
    ['echo `sleep 5`'],
    ['cat <(sleep 5)'],
    ['sh -c "sleep 1"'],
    ["bash -ec 'x && sleep 1'"],
    ['bash -o pipefail -c "sleep 1"'],
    ['sh -c \'sh -c "sleep 1"\''],
    ['timeout 5 sh -c sleep'],
    ['timeout -s KILL -k 5 10 sleep 3'],
    ['timeout --signal=KILL 10 sleep 3'],
    ['env -u A B=1 sleep 5'],
    ['nohup nice -n 5 sleep 5 &'],
    ['sudo -u me sleep 5'],
    ['echo 5 | xargs -n 1 sleep'],
    ['eval "sleep 5"'],
    ['eval sleep 5'],
    ['time sleep 5'],
    ['exec sleep 5'],
    ['command sleep 5'],
    ['busybox sleep 5'],
    ['usleep 500'],
    ['ping -c 5 localhost'],
    ['ping -c5 localhost >/dev/null'],
    ['ping -w 5 localhost'],
    ['read -t 5'],
    ['read -rt 5 x < fifo'],
    ['bash -c "read -t5 <> <(:)"'],
    ['cat <<EOF && sleep 5\nbody\nEOF'],
    ['cat <<EOF\nbody\nEOF\nsleep 5'],
  ])('%s', (text) => {
    expect(sleepIn(shell(text))).toMatch(/sleep|ping|read/);
  });

  test.each([
    [['sleep', '5']],
    [['timeout', '5', 'sh', '-c', 'sleep']],
    [['env', 'A=1', '/usr/bin/sleep', '9']],
  ])('%j', (argv) => {
    expect(sleepIn(argv)).toContain('sleep');
  });
});

describe('the word alone is not a sleep', () => {
  test.each([
    ['echo sleep 5'],
    ['echo "sleep 5"'],
    ["grep -rn 'sleep 5' src"],
    ['npm run sleep'],
    ['./sleep.sh 5'],
    ['node sleep'],
    ['# sleep 5\ntrue'],
    ['true # sleep 5'],
    ['cat <<EOF\nsleep 5\nEOF'],
    ["cat <<-'EOF'\n\tsleep 5\n\tEOF\ntrue"],
    ['sleep=5; echo $sleep'],
    ['for sleep in a b; do echo $sleep; done'],
    ['x > sleep'],
    ['x 2> sleep 5'],
    ['echo $((sleep + 5))'],
    ['test -f sleep'],
    ['timeout 5 npm test'],
    ['read -r line < file'],
    ['ping -c 1 localhost'],
    ['sh script.sh sleep 5'],
    ['bash --version'],
    ['sh'],
    [''],
    ['xargs'],
    ["echo 'unfinished"],
    ['echo "unfinished $(x'],
    ['constructor'],
  ])('%s', (text) => {
    expect(sleepIn(shell(text))).toBeUndefined();
  });
});

test('what is shown of the sleep is one short line', () => {
  expect(sleepIn(['sleep', '1\n2\u001b[31m'])).toBe('sleep 1 2 [31m');
  expect(sleepIn(['sleep', 'x'.repeat(500)])?.length).toBe(60);
});

test('commands of a text are lists of words, without quotes and redirections', () => {
  expect(commandsIn('A=1 npm test -- "a b" \'c\'d >log 2>&1 && echo \\"x | tee -a "f.txt"')).toEqual([
    ['A=1', 'npm', 'test', '--', 'a b', 'cd'],
    ['echo', '"x'],
    ['tee', '-a', 'f.txt'],
  ]);
  expect(commandsIn('a ""')).toEqual([['a', '']]);
  expect(commandsIn('a \\\n b')).toEqual([['a', 'b']]);
});

test('substitutions without end and a thousand levels deep end', () => {
  expect(sleepIn(shell('$('.repeat(1000)))).toBeUndefined();
  expect(sleepIn(shell('env '.repeat(1000)))).toBeUndefined();
});
