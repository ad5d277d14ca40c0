// Repositories with a pipeline of plain commands, and the same work for the floors and for make.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TICKET = '---\ntitle: Bench\nacceptance: ["it is measured"]\n---\nNothing to do.\n';

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {readonly string[]} needs
 * @property {string} command
 * @property {readonly string[]} [inputs]
 * @property {readonly string[]} [outputs]
 */

/** `count` steps, each needs the one before and writes one small file. */
export const chain = (count) =>
  Array.from({ length: count }, (_, index) => ({
    name: `t${index}`,
    needs: index === 0 ? [] : [`t${index - 1}`],
    command: `echo ${index} > out/t${index}`,
    inputs: index === 0 ? [] : [`out/t${index - 1}`],
    outputs: [`out/t${index}`],
  }));

/** `count` independent steps and one that needs them all. */
export const wide = (count) => {
  const steps = Array.from({ length: count }, (_, index) => ({
    name: `t${index}`,
    needs: [],
    command: `echo ${index} > out/t${index}`,
    outputs: [`out/t${index}`],
  }));
  const needs = steps.map(({ name }) => name);
  return [...steps, { name: 'join', needs, command: 'echo done > out/join', outputs: ['out/join'] }];
};

/** `layers` times `width` steps; each reads a file of its own and needs two of the layer before. */
export const layered = (layers, width) =>
  Array.from({ length: layers * width }, (_, index) => {
    const layer = Math.floor(index / width);
    const above = (shift) => `t${(layer - 1) * width + ((index + shift) % width)}`;
    return {
      name: `t${index}`,
      needs: layer === 0 ? [] : [above(0), above(1)],
      command: 'echo >> ran.log',
      inputs: [`src/t${index}`],
    };
  });

/** One step that prints. */
export const printing = (command) => [{ name: 'big', needs: [], command }];

const list = (items) => `[${items.join(', ')}]`;

const toYaml = (steps) => {
  const target = ({ name, needs, command, inputs = [], outputs = [] }) =>
    [
      `  ${name}:`,
      `    command: ${JSON.stringify(command)}`,
      ...(needs.length === 0 ? [] : [`    needs: ${list(needs)}`]),
      ...(inputs.length === 0 ? [] : [`    inputs: ${list(inputs)}`]),
      ...(outputs.length === 0 ? [] : [`    outputs: ${list(outputs)}`]),
    ].join('\n');
  return `name: bench\ntargets:\n${steps.map(target).join('\n')}\n`;
};

const toMakefile = (steps) => {
  const byName = new Map(steps.map((step) => [step.name, step]));
  const file = (step) => step.outputs[0];
  const rules = steps.map((step) => {
    const needs = step.needs.map((name) => file(byName.get(name))).join(' ');
    return `${file(step)}: ${needs}\n\t@${step.command}\n`;
  });
  return `all: ${file(steps.at(-1))}\n${rules.join('')}`;
};

/** A repository with one commit. `reset` brings it back to where nothing was ever run. */
export const makeWorkload = (dir, steps) => {
  for (const folder of ['out', 'src', 'tickets']) mkdirSync(join(dir, folder), { recursive: true });
  const write = (name, text) => writeFileSync(join(dir, name), text);
  write('tickets/1.md', TICKET);
  write('targets.yaml', toYaml(steps));
  write('.gitignore', 'out/\nsrc/\n*.json\n*.log\n*.jsonl\n');
  write('commands.json', JSON.stringify(steps.map(({ command }) => command)));
  if (steps.every(({ outputs }) => outputs)) write('Makefile', toMakefile(steps));
  for (const path of steps.flatMap(({ inputs = [] }) => inputs))
    if (path.startsWith('src/')) write(path, `${path}\n`);
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=bench', '-c', 'user.email=bench@example.invalid', ...args], {
      cwd: dir,
    });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-q', '-m', 'bench');
  const reset = () => {
    for (const name of ['.orchestrate', 'out', 'ran.log', 'floor.jsonl', 'floor.log']) {
      rmSync(join(dir, name), { recursive: true, force: true });
    }
    mkdirSync(join(dir, 'out'));
  };
  return { dir, steps, reset };
};

/** The graph for the planning floor, with the files as they are now. */
export const writeGraph = ({ dir, steps }) => {
  const look = (path) => {
    const { size, mtimeMs } = statSync(join(dir, path));
    return { path, size, mtimeMs };
  };
  const targets = steps.map(({ name, needs, inputs = [], outputs = [] }) => ({
    name,
    needs,
    files: [...new Set([...inputs, ...outputs])].map(look),
  }));
  writeFileSync(join(dir, 'graph.json'), JSON.stringify({ targets }));
};

/** A text that changes when any command of the workload has run again. */
export const traceOf = ({ dir }) => {
  const files = readdirSync(join(dir, 'out')).toSorted();
  const times = files.map((name) => `${name} ${statSync(join(dir, 'out', name)).mtimeMs}`);
  return `${times.join('\n')}\n${readLog(join(dir, 'ran.log'))}`;
};

const readLog = (path) => {
  try {
    return String(readFileSync(path).length);
  } catch {
    return '0';
  }
};
