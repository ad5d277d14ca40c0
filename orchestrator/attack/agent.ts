import { join } from 'node:path';
import type { Acts } from '../../workers/hostile/steps.js';
import type { Ground } from './ground.js';

const shellWord = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

const HONEST_RETURN = `printf '{"status":"done","summary":["done"]}' >"$ORCHESTRATE_RETURN"`;

/**
 * The program that is every worker. What is neither hostile nor a review is a few lines of shell: most of what an attack run does
 * is honest work around one step, and starting Node for it takes longer than the work.
 */
export const agentText = ({ packageRoot, subject }: Ground, acts: Acts): string => {
  const program = `exec ${shellWord(process.execPath)} ${shellWord(join(packageRoot, 'dist/hostile-worker.cjs'))} "$@"`;
  const told = Object.entries(acts).flatMap(([ticket, targets]) =>
    Object.keys(targets).map((target) => `${ticket}.${target}`),
  );
  const makers = subject.pipeline.targets.filter(({ outputs }) => outputs.length > 0);
  const names = [...told, ...makers.map(({ name }) => `*.${name}`), 'hostile'];
  return `#!/bin/sh
case "$ORCHESTRATE_TICKET.$ORCHESTRATE_TARGET" in ${names.join('|')}) ${program} ;; esac
case $ORCHESTRATE_MAKES in
plan) printf -- '${HONEST_PLAN.replaceAll('\n', '\\n')}' >"$ORCHESTRATE_OUT/plan.md" ;;
diff) mkdir -p src && echo "export const work = '$ORCHESTRATE_TICKET';" >"src/work-$ORCHESTRATE_TICKET.js" ;;
notes) mkdir -p "$ORCHESTRATE_OUT/notes" && echo '# Nothing went wrong' >"$ORCHESTRATE_OUT/notes/none.md" ;;
files) ;;
*) ${program} ;;
esac
${HONEST_RETURN}
`;
};

/** As it stands in the program: no quote, no percent sign, no backslash. */
const HONEST_PLAN =
  '---\npaths: ["**"]\nfiles: 40\nlines: 4000\n---\n# Plan\n\nWrite what the ticket asks for.\n';
