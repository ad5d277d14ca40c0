import { describe, expect, test } from 'vitest';
import type { ApprovalPolicy } from '../../orchestrator/model/pipeline.js';
import { policyName, policyObjections, type PolicyCase } from '../../orchestrator/gates/approval.js';

const POLICY: ApprovalPolicy = { paths: ['src/**', 'test/**'], maxFiles: 3, maxLines: 100 };

const plan = (more: Partial<Extract<PolicyCase, { kind: 'plan' }>['plan']> = {}): PolicyCase => ({
  kind: 'plan',
  plan: { paths: ['src/parse/**'], files: 3, lines: 100, body: 'x', ...more },
});
const diff = (more: Partial<Extract<PolicyCase, { kind: 'diff' }>> = {}): PolicyCase => ({
  kind: 'diff',
  paths: ['src/a.ts'],
  files: 3,
  lines: 100,
  ...more,
});

describe('a plan', () => {
  test('within paths and limits is approved, also at the very limit', () => {
    expect(policyObjections(POLICY, plan())).toEqual([]);
  });

  test('that reaches out of the paths is not, and each path is named', () => {
    expect(policyObjections(POLICY, plan({ paths: ['src/a', '**', 'docs/x'] }))).toEqual([
      "`**` is outside the policy's paths (src/**, test/**)",
      "`docs/x` is outside the policy's paths (src/**, test/**)",
    ]);
  });

  test('that is too large is not', () => {
    expect(policyObjections(POLICY, plan({ files: 4, lines: 101 }))).toEqual([
      "4 files are more than the policy's 3",
      "101 lines are more than the policy's 100",
    ]);
  });

  test('that promises no size is not: a policy never guesses', () => {
    const promise: PolicyCase = { kind: 'plan', plan: { paths: ['src/a'], body: 'x' } };
    expect(policyObjections(POLICY, promise)).toEqual([
      'the plan does not say how many files it changes (`files:` in its front matter)',
      'the plan does not say how many lines it changes (`lines:` in its front matter)',
    ]);
  });
});

describe('a diff', () => {
  test('within paths and limits is approved', () => {
    expect(policyObjections(POLICY, diff())).toEqual([]);
  });

  test('is held to the paths that it touched, not to what somebody estimated', () => {
    expect(
      policyObjections(POLICY, diff({ paths: ['src/a.ts', '.github/workflows/ci.yml'], files: 4 })),
    ).toEqual([
      "`.github/workflows/ci.yml` is outside the policy's paths (src/**, test/**)",
      "4 files are more than the policy's 3",
    ]);
  });
});

test('a policy is named as a policy, with its limits, never as a person', () => {
  expect(policyName(POLICY)).toBe('policy (paths src/**, test/**; at most 3 files, 100 lines)');
});
