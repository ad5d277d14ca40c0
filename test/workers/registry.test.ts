import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AGENTS } from '../../orchestrator/model/pipeline.js';
import { autoWorker } from '../../workers/auto.js';
import { claudeWorker } from '../../workers/claude.js';
import { agentsInOrder, labelOf, workerFor } from '../../workers/registry.js';
import { requestOf, specOf } from '../helpers/agent-transcripts.js';

const workerOf = (name: (typeof AGENTS)[number]) => workerFor({ ...specOf(claudeWorker), adapter: name });

describe('the registry', () => {
  test('has every agent under its own name, in the documented order', () => {
    expect(agentsInOrder()).toEqual(['claude', 'codex', 'gemini', 'opencode', 'pi', 'qwen', 'copilot']);
    for (const name of AGENTS) expect(workerOf(name).name).toBe(name);
  });

  test.each(AGENTS)('%s says what is needed to find, start and read it', (name) => {
    const worker = workerOf(name);
    const { agent } = worker;
    const request = requestOf(worker);
    const invocation = worker.invocation(request);
    expect(worker.problems(request.spec)).toEqual([]);
    expect(invocation.argv[0]).toBe(agent?.program);
    expect(invocation.agentKeys).toBe(true);
    expect(agent?.install).toMatch(/\S/);
    expect(agent?.login.command).toMatch(/\S/);
    expect((agent?.login.variables.length ?? 0) + (agent?.login.files.length ?? 0)).toBeGreaterThan(0);
    expect(agent?.readLine('not JSON')).toEqual([]);
    expect(labelOf(request.spec)).toBeUndefined();
  });

  test.each(AGENTS)('%s is given what the worker says, last and unchanged', (name) => {
    const worker = workerOf(name);
    const spec = specOf(worker, { args: ['--flag', "a 'b' $c"], env: { DEBUG: '1' } });
    const { argv, env } = worker.invocation(requestOf(worker, { spec }));
    expect(argv.slice(-2)).toEqual(['--flag', "a 'b' $c"]);
    expect(env).toMatchObject({ DEBUG: '1' });
    expect(worker.problems({ ...spec, command: ['x'] })).not.toEqual([]);
  });
});

test('the README sets each agent up as `doctor` says, in the order of `auto`', () => {
  const text = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  const rows = text.split('\n').filter((line) => line.includes('`npm i -g '));
  expect(rows.map((row) => /adapter: (\w+)/.exec(row)?.[1])).toEqual(agentsInOrder());
  for (const [index, name] of agentsInOrder().entries()) {
    const { agent } = workerOf(name);
    expect(rows[index]).toContain(agent?.install.replace('npm install --global', 'npm i -g'));
    expect(rows[index]?.replaceAll('`', '')).toContain(agent?.login.command);
  }
  const permissions = text.slice(text.indexOf('| agent | `none` |')).split('\n\n')[0] ?? '';
  expect(permissions.trim().split('\n').length).toBe(2 + agentsInOrder().length);
});

describe('auto', () => {
  const auto = (more: Parameters<typeof specOf>[1]) => autoWorker.problems(specOf(autoWorker, more));

  test('needs nothing, and takes a list', () => {
    expect(auto({})).toEqual([]);
    expect(auto({ agents: ['codex', 'claude'] })).toEqual([]);
    expect(auto({ agents: ['codex'], model: 'm-1', args: ['--x'] })).toEqual([]);
  });

  test.each([
    [{ command: ['claude'] }, 'takes whichever agent is ready and so no `command`; remove it'],
    [{ agents: ['pi', 'codex', 'pi'] as const }, '`agents` of worker `builder` names `pi` twice'],
    [{ model: 'opus' }, '`model` of worker `builder` would be given to whichever agent is ready'],
    [{ args: ['--x'], agents: ['pi', 'codex'] as const }, '`args` of worker `builder` would be given to'],
  ])('%j is a problem', (more, message) => {
    const problems = auto(more);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  test('is never started itself', () => {
    expect(() => autoWorker.invocation(requestOf(autoWorker))).toThrow('must be replaced by an agent');
  });
});
