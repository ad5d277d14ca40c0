/** The real agents, at the versions of `.ci/agents.mjs`, with a model that is a script. */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
// @ts-expect-error: a script of the build, without types
import { agentFolder, isInstalled } from '../../.ci/agents.mjs';
import type { AgentName } from '../../orchestrator/model/pipeline.js';
import { startFakeLlm, type FakeLlm, type Rule } from './llm-server.mjs';
import type { Rig } from './rig.js';

/** In a run that installed them a missing one is a failure, not a reason to skip. */
export const isHere = (name: AgentName): boolean =>
  (isInstalled as (name: string) => boolean)(name) || process.env['ORCHESTRATE_TEST_REQUIRED'] === '1';

export interface World {
  readonly llm: FakeLlm;
  /** What `rig.run` needs in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** `args:` of a worker, as YAML. */
  readonly args: (name: AgentName) => string;
}

const KEY = 'sk-fake-0123456789';

/** A model server of this test, the programs on the PATH of the rig, and everybody logged in to it. */
export const agentWorld = async (
  rig: Rig,
  names: readonly AgentName[],
  rules: readonly Rule[],
): Promise<World> => {
  const llm = await startFakeLlm({ rules });
  onTestFinished(llm.close);
  for (const name of new Set(names)) {
    const program = join((agentFolder as (of: string) => string)(name), 'node_modules', '.bin', name);
    if (!existsSync(program)) throw new Error(`${name} is not installed: node .ci/agents.mjs --all`);
    symlinkSync(program, join(rig.dir, 'bin', name));
  }
  const pi = join(rig.home, '.pi', 'agent');
  mkdirSync(pi, { recursive: true });
  const model = {
    id: 'm1',
    contextWindow: 200_000,
    maxTokens: 8_000,
    cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
  };
  const provider = { baseUrl: `${llm.url}/v1`, api: 'openai-completions', apiKey: KEY, models: [model] };
  writeFileSync(join(pi, 'models.json'), JSON.stringify({ providers: { fake: provider } }));
  writeFileSync(join(pi, 'auth.json'), JSON.stringify({ fake: { type: 'api_key', key: KEY } }));
  const opencode = {
    provider: {
      fake: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${llm.url}/v1`, apiKey: KEY },
        models: { m1: { limit: { context: 200_000, output: 8_000 } } },
      },
    },
    enabled_providers: ['fake'],
    small_model: 'fake/m1',
  };
  writeFileSync(join(rig.home, 'opencode.json'), JSON.stringify(opencode));
  return {
    llm,
    env: {
      OPENCODE_CONFIG: join(rig.home, 'opencode.json'),
      OPENCODE_API_KEY: KEY,
      COPILOT_PROVIDER_BASE_URL: `${llm.url}/v1`,
      COPILOT_PROVIDER_API_KEY: KEY,
      COPILOT_MODEL: 'm1',
      COPILOT_OFFLINE: 'true',
      // Of a model that it does not know it supposes 128,000.
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '1000000',
      OPENAI_MODEL: 'm1',
      ANTHROPIC_BASE_URL: llm.url,
      ANTHROPIC_API_KEY: KEY,
      CODEX_API_KEY: KEY,
      GOOGLE_GEMINI_BASE_URL: llm.url,
      GEMINI_API_KEY: KEY,
      OPENAI_BASE_URL: `${llm.url}/v1`,
      OPENAI_API_KEY: KEY,
    },
    args: (name) => JSON.stringify(ARGUMENTS[name]?.(llm.url) ?? []),
  };
};

/** How each is told of an endpoint that is not its maker's, where no variable says so. */
const ARGUMENTS: Partial<Record<AgentName, (url: string) => readonly string[]>> = {
  codex: (url) => [
    '-c',
    `model_providers.fake={name="fake",base_url="${url}/v1",env_key="CODEX_API_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`,
    '-c',
    'model_provider="fake"',
  ],
  pi: () => ['--provider', 'fake'],
};

const MODELS: Readonly<Record<AgentName, string>> = {
  claude: 'claude-sonnet-4-5',
  codex: 'gpt-5.1-codex',
  pi: 'm1',
  gemini: 'gemini-2.5-pro',
  opencode: 'fake/m1',
  qwen: 'm1',
  copilot: 'm1',
};

export const modelOf = (name: AgentName): string => MODELS[name];

type Steps = Rule['steps'];

/**
 * The last steps of a worker that returns `value`.
 * @param heard whether its last answer is the return, as of a critic without a sandbox, and not a file
 */
export const lastSteps = (name: AgentName, value: unknown, heard = false): Steps => {
  if (name === 'claude') return [{ tool: { name: 'StructuredOutput', input: value } }];
  if (name === 'qwen') return [{ tool: { name: 'structured_output', input: value } }];
  if (name === 'codex' || heard) return [{ json: value }];
  return [{ write: { path: '{{^return: (.+)$}}', json: value } }, { text: 'Done.' }];
};
