import type { Gate, Limits } from '../model/pipeline.js';
import { parseDuration } from './duration.js';
import { describePath, type Finding, type Path } from './problems.js';
import type { RawGate, RawLimits, RawRun } from './schema.js';

/** Where a value is, and where to say that it does not hold. */
export interface Sink {
  readonly findings: Finding[];
  readonly path: Path;
}

const duration = (text: string | undefined, otherwise: number, sink: Sink): number => {
  if (text === undefined) return otherwise;
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  const message = `\`${describePath(sink.path)}\` is \`${text}\``;
  sink.findings.push({
    path: sink.path,
    message,
    expected: 'between `1ms` and `596h`',
    fix: 'write a shorter or longer time',
  });
  return otherwise;
};

/** Milliseconds, each key falling back on its own. */
export const resolveLimits = (raw: RawLimits | undefined, base: Limits, sink: Sink): Limits => {
  if (raw === undefined) return base;
  const at = (key: string) => ({ findings: sink.findings, path: [...sink.path, key] });
  return {
    idleMs: duration(raw.idle, base.idleMs, at('idle')),
    timeoutMs: duration(raw.timeout, base.timeoutMs, at('timeout')),
    graceMs: duration(raw.grace, base.graceMs, at('grace')),
  };
};

/** A text is for the shell, a list is not. */
export const argvOf = (run: RawRun): readonly string[] =>
  typeof run === 'string' ? ['/bin/sh', '-c', run] : run;

const nameOfCheck = (run: RawRun): string => {
  const text = (typeof run === 'string' ? run : run.join(' ')).replaceAll(/\s+/g, ' ').trim();
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
};

const isRun = (check: unknown): check is RawRun => typeof check === 'string' || Array.isArray(check);

export const resolveGate = (raw: RawGate, limits: Limits, sink: Sink): Gate => {
  if (typeof raw === 'string') return { kind: raw };
  if ('approval' in raw) {
    if (raw.approval === 'person') return { kind: 'approval', by: 'person' };
    const { paths, maxFiles, maxLines } = raw.approval.policy;
    return { kind: 'approval', by: 'policy', policy: { paths, maxFiles, maxLines } };
  }
  const { check } = raw;
  if (isRun(check)) {
    return { kind: 'check', name: nameOfCheck(check), argv: argvOf(check), timeoutMs: limits.timeoutMs };
  }
  const timeoutMs = duration(check.timeout, limits.timeoutMs, {
    ...sink,
    path: [...sink.path, 'check', 'timeout'],
  });
  return { kind: 'check', name: check.name ?? nameOfCheck(check.run), argv: argvOf(check.run), timeoutMs };
};
