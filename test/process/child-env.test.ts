import { expect, test } from 'vitest';
import type { AgentName } from '../../orchestrator/model/pipeline.js';
import { childEnvironment } from '../../orchestrator/process/child-env.js';
import { claudeWorker } from '../../workers/claude.js';
import { ALL_KEYS } from '../../workers/provider-keys.js';
import { workerFor } from '../../workers/registry.js';
import { specOf } from '../helpers/agent-transcripts.js';

const PARENT = {
  PATH: '/usr/bin:./node_modules/.bin::bin:/bin',
  HOME: '/home/a',
  LC_ALL: 'C.UTF-8',
  XDG_CONFIG_HOME: '/home/a/.config',
  https_proxy: 'http://proxy',
  CLAUDECODE: '1',
  CLAUDE_CODE_ENTRYPOINT: 'cli',
  CLAUDE_CODE_OAUTH_TOKEN: 'token',
  ANTHROPIC_API_KEY: 'key',
  GIT_DIR: '/elsewhere',
  GIT_INDEX_FILE: '/elsewhere/index',
  NODE_OPTIONS: '--require evil',
  SSH_AUTH_SOCK: '/run/agent',
  ORCHESTRATE_CHILD: 'outer',
  DATABASE_PASSWORD: 'secret',
  CI: 'true',
};

test('only what is named passes', () => {
  expect(
    childEnvironment({ parent: PARENT, allow: ['CI', 'ABSENT'], set: { ORCHESTRATE_TICKET: '320' } }),
  ).toEqual({
    PATH: '/usr/bin:/bin',
    HOME: '/home/a',
    LC_ALL: 'C.UTF-8',
    XDG_CONFIG_HOME: '/home/a/.config',
    https_proxy: 'http://proxy',
    CI: 'true',
    ORCHESTRATE_TICKET: '320',
  });
});

test('keys of agents are for agents', () => {
  const env = childEnvironment({ parent: PARENT, allow: [], set: {}, keys: ALL_KEYS });
  expect(env).toMatchObject({ ANTHROPIC_API_KEY: 'key', CLAUDE_CODE_OAUTH_TOKEN: 'token' });
  expect(env).not.toHaveProperty('DATABASE_PASSWORD');
});

test('an agent gets the keys of its own provider, and none that could push', () => {
  const parent = {
    ANTHROPIC_API_KEY: 'a',
    CODEX_API_KEY: 'c',
    GEMINI_API_KEY: 'g',
    COPILOT_MODEL: 'm',
    COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '1000000',
    GH_TOKEN: 't',
  };
  const keysOf = (adapter: AgentName) =>
    Object.keys(
      childEnvironment({
        parent,
        allow: [],
        set: {},
        keys: workerFor({ ...specOf(claudeWorker), adapter }).agent?.keys ?? [],
      }),
    );
  expect(keysOf('claude')).toEqual(['ANTHROPIC_API_KEY']);
  expect(keysOf('codex')).toEqual(['CODEX_API_KEY']);
  expect(keysOf('gemini')).toEqual(['GEMINI_API_KEY']);
  expect(keysOf('copilot')).toEqual(['COPILOT_MODEL', 'COPILOT_PROVIDER_MAX_PROMPT_TOKENS']);
  expect(keysOf('pi')).toEqual([
    'ANTHROPIC_API_KEY',
    'CODEX_API_KEY',
    'GEMINI_API_KEY',
    'COPILOT_MODEL',
    'COPILOT_PROVIDER_MAX_PROMPT_TOKENS',
  ]);
});

test('variables of a session, of git and of an outer orchestrator do not pass even when they are asked for', () => {
  const names = ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'GIT_DIR', 'GIT_INDEX_FILE', 'ORCHESTRATE_CHILD'];
  const env = childEnvironment({ parent: PARENT, allow: names, set: {}, keys: ALL_KEYS });
  for (const name of names) expect(env).not.toHaveProperty(name);
});

test('what is set wins, whatever it is called', () => {
  const set = { PATH: '/own', GIT_AUTHOR_NAME: 'worker' };
  expect(childEnvironment({ parent: PARENT, allow: [], set })).toMatchObject(set);
});

test('the SSH agent of the person passes only when the pipeline names it', () => {
  expect(childEnvironment({ parent: PARENT, allow: [], set: {}, keys: ALL_KEYS })).not.toHaveProperty(
    'SSH_AUTH_SOCK',
  );
  expect(childEnvironment({ parent: PARENT, allow: ['SSH_AUTH_SOCK'], set: {} })).toMatchObject({
    SSH_AUTH_SOCK: '/run/agent',
  });
});
