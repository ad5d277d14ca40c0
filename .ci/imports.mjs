// node .ci/imports.mjs: who imports whom, against the table in .dependency-cruiser.mjs. Exit status 1 names each import that
// is not allowed. (The command of dependency-cruiser refuses the option by which `.js` in an import means a `.ts` file.)
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise } from 'dependency-cruiser';
import extractDepcruiseConfig from 'dependency-cruiser/config-utl/extract-depcruise-options';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** A checker that resolves nothing finds nothing. */
const FEWEST = 30;

const options = await extractDepcruiseConfig(join(ROOT, '.dependency-cruiser.mjs'));
const { output } = await cruise(['orchestrator', 'workers'], { ...options, baseDir: ROOT });
const { violations, totalCruised } = output.summary;
for (const { rule, from, to } of violations) console.error(`${from} imports ${to}: ${rule.name}`);
if (totalCruised < FEWEST) console.error(`only ${totalCruised} modules were seen`);
else if (violations.length === 0) console.log(`${totalCruised} modules import only what the table allows.`);
process.exitCode = violations.length > 0 || totalCruised < FEWEST ? 1 : 0;
