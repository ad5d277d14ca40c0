import { describe, expect, test } from 'vitest';
import type { WorkerSpec } from '../../orchestrator/model/pipeline.js';
import { commandWorker } from '../../workers/command.js';
import { labelOf, workerFor } from '../../workers/registry.js';
import type { WorkerRequest } from '../../workers/worker.js';

const spec = (command: readonly string[], more: Partial<WorkerSpec> = {}): WorkerSpec => ({
  name: 'builder',
  adapter: 'command',
  command,
  agents: [],
  args: [],
  sandbox: { mode: 'off', network: true, read: [], write: [] },
  env: {},
  ...more,
});

const request = (of: WorkerSpec): WorkerRequest => ({
  spec: of,
  ticket: '320',
  target: 'implementation-diff',
  access: 'write',
  paths: {
    tree: '/w/tree $1',
    out: '/w/out',
    prompt: '/w/prompt.md',
    returnPath: '/w/out/r.json',
    config: '/w/agent',
    schema: '/w/agent/return.schema.json',
  },
  schema: '{}',
  home: '/home/ada',
  variables: new Set(),
  sandboxed: false,
  packageRoot: '/pkg',
  nodePath: '/bin/node',
});

const argvOf = (of: WorkerSpec) => commandWorker.invocation(request(of)).argv;

describe('the command adapter', () => {
  test('replaces every placeholder, more than one in an argument, and leaves each an argument', () => {
    const command = ['agent', '{tree}', '--o={out}:{return}', '{prompt}', '{ticket}/{target}', '{model}'];
    expect(argvOf(spec(command, { model: 'm-1' }))).toEqual([
      'agent',
      '/w/tree $1',
      '--o=/w/out:/w/out/r.json',
      '/w/prompt.md',
      '320/implementation-diff',
      'm-1',
    ]);
  });

  test('leaves what only looks like a placeholder', () => {
    const command = ['agent', '{{tree}}', '${tree}', '{"a":{"b":1}}', '{}', '{TREE}', 'a{1,2}'];
    expect(commandWorker.problems(spec(command))).toEqual([]);
    expect(argvOf(spec(command))).toEqual([
      'agent',
      '{tree}',
      '${tree}',
      '{"a":{"b":1}}',
      '{}',
      '{TREE}',
      'a{1,2}',
    ]);
  });

  test.each([
    [['agent', '{tre}'], '`{tre}` in `command` of worker `builder` is not a placeholder; use one of {tree}'],
    [['{tree}/bin/agent'], 'the program in `command` of worker `builder` contains `{tree}`'],
    [['sh', '-c', 'agent {tree}'], 'would be read by the shell; pass it behind the script'],
    [['/bin/bash', '-x', '-ec', 'agent {ticket}'], 'would be read by the shell'],
    [['agent', '{model}'], 'the worker has no `model`; add `model: NAME`'],
    [['agent', 'a\0b'], 'contains a NUL character'],
    [[], 'has no `command`; name a program'],
  ])('%j is a problem', (command, message) => {
    const problems = commandWorker.problems(spec(command));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  test('takes a placeholder behind the script of a shell', () => {
    expect(commandWorker.problems(spec(['sh', '-c', 'agent "$1"', 'sh', '{tree}']))).toEqual([]);
  });

  test('passes its own variables on and asks for the keys of agents', () => {
    const invocation = commandWorker.invocation(request(spec(['agent'], { env: { DEBUG: '1' } })));
    expect(invocation).toEqual({ argv: ['agent'], env: { DEBUG: '1' }, agentKeys: true });
  });
});

describe('the scripted adapter', () => {
  const scripted = spec([], { adapter: 'scripted', name: 'critic' });

  test('runs the bundled program with the Node of the orchestrator and without keys', () => {
    expect(workerFor(scripted).invocation(request(scripted))).toEqual({
      argv: ['/bin/node', '/pkg/dist/scripted-worker.cjs'],
      env: {},
      agentKeys: false,
    });
  });

  test('takes neither a command nor a model', () => {
    const problems = workerFor(scripted).problems({ ...scripted, command: ['agent'], model: 'm' });
    expect(problems).toEqual([
      'worker `critic` is scripted and takes no `command`; remove it, or use `adapter: command`',
      'worker `critic` is scripted and has no `model`; remove it, or use `adapter: command`',
    ]);
  });

  test('is labelled as what it is, whatever the pipeline calls it', () => {
    expect(labelOf(scripted)).toBe('scripted worker, not a model');
    expect(labelOf({ ...scripted, label: 'Opus' })).toBe('Opus; scripted worker, not a model');
    expect(labelOf(spec(['agent']))).toBeUndefined();
    expect(labelOf(spec(['agent'], { label: 'our agent' }))).toBe('our agent');
  });
});
