import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Problem } from '../model/failure.js';
import { oneLine } from '../model/text.js';
import { findRepository } from '../git/repository.js';
import { childEnvironment } from '../process/child-env.js';
import { probe } from '../process/probe.js';
import { resolveProgram } from '../process/program.js';
import { agentFindings } from './doctor-agents.js';
import { versionIn, type Finding } from './doctor-finding.js';
import { printJson } from './io.js';
import type { Session } from './session.js';

/** Git of this age has all plumbing that is used here. */
const LEAST_GIT = [2, 38] as const;
const LEAST_FREE_BYTES = 2_147_483_648;

/** `doctor`: what a run needs and finds here, each line with its fix. Exit status 0 unless something that every run needs is wrong. */
export const doctor = async (session: Session): Promise<number> => {
  const [git, sandbox, forge, agents] = await Promise.all([
    gitFindings(session),
    sandboxFinding(session),
    forgeFinding(session),
    agentFindings(session),
  ]);
  const findings = [nodeFinding(), ...git, sandbox, forge, diskFinding(session), ...agents];
  const needed = new Set(['node', 'git', 'identity', 'disk']);
  const healthy = findings.every(({ name, state }) => state !== 'problem' || !needed.has(name));
  if (session.request.json) printJson(session.io, { healthy, findings });
  else for (const finding of findings) session.io.stdout(`${lineOf(finding)}\n`);
  return healthy ? 0 : 1;
};

const MARKS = { ok: '✓', problem: '✗', missing: '·', note: '!' } as const;

const lineOf = ({ name, state, detail, fix }: Finding): string =>
  `${MARKS[state]} ${name.padEnd(9)} ${oneLine(detail, 300)}${fix === undefined ? '' : `\n            fix: ${oneLine(fix, 300)}`}`;

const nodeFinding = (): Finding => ({ name: 'node', state: 'ok', detail: process.versions.node });

const environment = (session: Session): Record<string, string> =>
  childEnvironment({ parent: session.io.env, allow: [], set: { LC_ALL: 'C' } });

const gitFindings = async (session: Session): Promise<readonly Finding[]> => {
  const env = environment(session);
  const place = { env, cwd: session.cwd };
  const program = resolveProgram('git', { path: env['PATH'], cwd: session.cwd });
  if (program === undefined)
    return [{ name: 'git', state: 'problem', detail: 'not on your PATH', fix: 'install git 2.38 or newer' }];
  const [version, name, email] = await Promise.all([
    probe(program, ['--version'], place),
    probe(program, ['config', '--get', 'user.name'], place),
    probe(program, ['config', '--get', 'user.email'], place),
  ]);
  return [
    gitFinding(version.stdout, program),
    identityFinding(oneLine(name.stdout, 100), oneLine(email.stdout, 100)),
    repositoryFinding(session),
  ];
};

const gitFinding = (version: string, program: string): Finding => {
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(version) ?? [];
  const age = Number(major) - LEAST_GIT[0] || Number(minor) - LEAST_GIT[1];
  const detail = `${oneLine(version.replace(/^git version /, ''), 60)}, ${program}`;
  return age < 0
    ? { name: 'git', state: 'problem', detail, fix: `install git ${LEAST_GIT.join('.')} or newer` }
    : { name: 'git', state: 'ok', detail };
};

const identityFinding = (name: string, email: string): Finding =>
  name === '' || email === ''
    ? {
        name: 'identity',
        state: 'problem',
        detail: 'git does not know who commits',
        fix: 'git config --global user.name "NAME"; git config --global user.email ADDRESS',
      }
    : { name: 'identity', state: 'ok', detail: `${name} <${email}>` };

const repositoryFinding = (session: Session): Finding => {
  try {
    return { name: 'here', state: 'ok', detail: `repository ${findRepository(session.cwd).root}` };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return {
      name: 'here',
      state: 'note',
      detail: 'not inside a repository',
      fix: 'cd into one, or use -C DIR',
    };
  }
};

const sandboxFinding = async (session: Session): Promise<Finding> => {
  const { sandboxHere } = await import('../effects/containment.js');
  const found = await sandboxHere(session.io.env);
  if (found.kind === 'bubblewrap')
    return { name: 'sandbox', state: 'ok', detail: `bubblewrap ${found.version}, ${found.program}` };
  return {
    name: 'sandbox',
    state: 'note',
    detail: `none: ${found.why}. Workers run as you: what they do to the record is found, not prevented`,
    fix: found.fix,
  };
};

/** Optional: a pull request can be opened with one of them. */
const FORGES = ['gh', 'glab'] as const;

const forgeFinding = async (session: Session): Promise<Finding> => {
  const env = environment(session);
  for (const name of FORGES) {
    const program = resolveProgram(name, { path: env['PATH'], cwd: session.cwd });
    if (program === undefined) continue;
    const { stdout } = await probe(program, ['--version'], { env, cwd: session.cwd });
    return { name: 'forge', state: 'ok', detail: `${name} ${versionIn(stdout)}, ${program}` };
  }
  return {
    name: 'forge',
    state: 'missing',
    detail: `neither ${FORGES.join(' nor ')}: branches are pushed and landed with git alone`,
    fix: 'nothing to do, unless you want pull requests: https://cli.github.com',
  };
};

const diskFinding = (session: Session): Finding => {
  const { bavail, bsize } = statfsSync(existingFolder(session.home));
  const free = bavail * bsize;
  const detail = `${(free / 1_073_741_824).toFixed(1)} GiB free for trees and checkouts in ${session.home}`;
  return free < LEAST_FREE_BYTES
    ? { name: 'disk', state: 'problem', detail, fix: 'make room, or set ORCHESTRATE_HOME to a larger disk' }
    : { name: 'disk', state: 'ok', detail };
};

/** Nothing may have been run here yet. */
const existingFolder = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : existingFolder(dirname(path));
