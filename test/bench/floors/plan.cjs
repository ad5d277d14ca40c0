// The floor under finding that everything is up to date: node plan.cjs GRAPH.json
// Reads the graph as JSON, looks at every file of every target, and decides in topological order.
'use strict';
const fs = require('node:fs');

const graph = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const stale = new Set();
for (const { name, needs, files } of graph.targets) {
  const changed = files.some(({ path, size, mtimeMs }) => {
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    return stat === undefined || stat.size !== size || stat.mtimeMs !== mtimeMs;
  });
  if (changed || needs.some((need) => stale.has(need))) stale.add(name);
}
fs.writeSync(1, `${stale.size} of ${graph.targets.length} targets are out of date\n`);
process.exitCode = stale.size === 0 ? 0 : 1;
