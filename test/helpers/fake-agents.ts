/** Small programs that keep, or break, the contract of a worker; and a pipeline that calls them. */
import { initRepository, type Rig } from './rig.js';

/** What every fake agent of a role has: reads its prompt, does `body`, returns. */
const agent = (body: string): string => `#!/bin/sh\ncat > /dev/null\n${body}\n`;

/** A valid return of an honest worker. */
export const RETURN = `printf '{"status":"done","summary":["did it"]}' > "$ORCHESTRATE_RETURN"`;

export const planner = (paths = '"**"'): string =>
  agent(
    `printf -- '---\\npaths: [${paths}]\\nfiles: 1\\nlines: 9\\n---\\nThe plan.\\n' > "$ORCHESTRATE_OUT/plan.md"\n${RETURN}`,
  );

/** @param work shell commands in the tree */
export const builder = (work = 'echo more >> a.txt'): string => agent(`${work}\n${RETURN}`);

const scribe = (): string =>
  agent(`mkdir "$ORCHESTRATE_OUT/notes"; printf '# A scar\\n' > "$ORCHESTRATE_OUT/notes/scar.md"\n${RETURN}`);

/** Approves as the critic below does, without the tenth of a second that Node takes to start. */
const APPROVING_CRITIC = `#!/bin/sh
answer=$(awk '
  $0 == "# Assignment" { nonce = pages = pillars = "" }
  /^nonce: / && nonce == "" { nonce = $2 }
  /^page: / { pages = pages (pages == "" ? "" : ",") "\\"" $2 "\\"" }
  /^pillar: / { pillars = pillars (pillars == "" ? "" : ",") "\\"" substr($0, 9) "\\":\\"none\\"" }
  END {
    printf "{\\"status\\":\\"done\\",\\"summary\\":[\\"judged\\"],\\"verdict\\":{\\"verdict\\":\\"APPROVED\\",\\"nonce\\":\\"%s\\",", nonce
    printf "\\"blockers\\":[],\\"dismissed\\":[],\\"deadEnds\\":[],\\"pillars\\":{%s},\\"pages\\":[%s]}}\\n", pillars, pages
  }')
if [ "$ORCHESTRATE_RETURN" = - ]; then printf '%s\\n' "$answer"; else printf '%s\\n' "$answer" > "$ORCHESTRATE_RETURN"; fi
`;

/** @param change JavaScript that may alter `verdict` and `returned` before they are written */
export const critic = (change = ''): string => `#!/usr/bin/env node
const fs = require('node:fs');
const prompt = fs.readFileSync(0, 'utf8');
const lines = prompt.slice(prompt.lastIndexOf('\\n# Assignment\\n')).split('\\n');
const all = (key) => lines.filter((line) => line.startsWith(key + ': ')).map((line) => line.slice(key.length + 2));
const verdict = {
  verdict: 'APPROVED', nonce: all('nonce')[0], blockers: [], dismissed: [], deadEnds: [],
  pillars: Object.fromEntries(all('pillar').map((pillar) => [pillar, 'none'])),
  pages: all('page').map((page) => page.split(' ')[0]),
};
const returned = { status: 'done', summary: ['judged'], verdict };
${change}
const text = JSON.stringify(returned) + '\\n';
if (process.env.ORCHESTRATE_RETURN === '-') process.stdout.write(text);
else fs.writeFileSync(process.env.ORCHESTRATE_RETURN, text);
`;

/** JavaScript for \`critic\`: what turns the approval into a rejection. */
export const REJECT = `verdict.verdict = 'REJECTED'; verdict.blockers = [{ title: 'too short', path: 'a.txt', detail: 'round ' + process.env.ORCHESTRATE_ROUND }];`;

export const TICKET = '---\ntitle: Longer\n---\nMake a.txt longer.\n';

interface Team {
  readonly planner?: string;
  readonly builder?: string;
  readonly critic?: string;
  /** Further lines of targets.yaml, at the top level. */
  readonly settings?: string;
  /** Rule of the pipeline; `off` unless given, since most fakes write where a test looks. */
  readonly sandbox?: string;
  /** Further lines below \`targets:\`. */
  readonly targets?: string;
}

/** A repository whose pipeline is the built-in one with fake agents; plans are approved by policy. */
export const initWithAgents = (rig: Rig, team: Team = {}): void => {
  rig.program('planner', team.planner ?? planner());
  rig.program('builder', team.builder ?? builder());
  rig.program('critic', team.critic ?? APPROVING_CRITIC);
  rig.program('scribe', scribe());
  initRepository(rig, {
    'a.txt': 'one\n',
    'tickets/320.md': TICKET,
    'tickets/321.md': TICKET,
    'targets.yaml': `name: own
extends: builtin
sandbox: ${team.sandbox ?? 'off'}
${team.settings ?? ''}
workers:
  archaeologist: { adapter: command, command: [planner] }
  builder: { adapter: command, command: [builder] }
  critic: { adapter: command, command: [critic] }
  scribe: { adapter: command, command: [scribe] }
targets:
  approved-plan:
    gates: [{ approval: { policy: { paths: ["**"], maxFiles: 9, maxLines: 99 } } }]
${team.targets ?? ''}`,
  });
};
