// node .ci/agents.mjs [--all]: installs the agents that the tests run, at pinned versions, into a cache outside the repository, and
// prints the folder. The first three are for every run of the tests, the others for `npm run test:agents`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const AGENTS = {
  claude: '@anthropic-ai/claude-code@2.1.332',
  codex: '@openai/codex@0.171.0',
  pi: '@mariozechner/pi-coding-agent@0.73.1',
  gemini: '@google/gemini-cli@0.61.0',
  opencode: 'opencode-ai@1.18.33',
  qwen: '@qwen-code/qwen-code@0.15.10',
  copilot: '@github/copilot@1.0.102',
};

/** Puts its program, which is in a package beside it, in its place. */
const SCRIPTS = { claude: '@anthropic-ai/claude-code/install.cjs' };

const ALWAYS = ['claude', 'codex', 'pi'];

const cache = () =>
  process.env.ORCHESTRATE_TEST_AGENTS ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'orchestrate-test-agents');

/** Folder of an agent's version; its program is in `node_modules/.bin`. */
export const agentFolder = (name) =>
  join(cache(), `${name}-${AGENTS[name].slice(AGENTS[name].lastIndexOf('@') + 1)}`);

/** Whether it is there whole: an installation that was interrupted is not. */
export const isInstalled = (name) => existsSync(join(agentFolder(name), 'installed'));

const install = (name) => {
  const folder = agentFolder(name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  // What they bring is in packages of the registry; one script is needed, and npm runs none that was not named before.
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', AGENTS[name]];
  execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  const script = SCRIPTS[name];
  if (script !== undefined)
    execFileSync(process.execPath, [join('node_modules', script)], { cwd: folder, stdio: 'inherit' });
  writeFileSync(join(folder, 'installed'), '');
};

const program = process.argv[1];
if (program !== undefined && import.meta.url === pathToFileURL(realpathSync(program)).href) {
  const wanted = process.argv.includes('--all') ? Object.keys(AGENTS) : ALWAYS;
  for (const name of wanted) {
    if (!isInstalled(name)) install(name);
    console.log(`${AGENTS[name]} in ${agentFolder(name)}`);
  }
}
