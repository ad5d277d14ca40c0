import type { ApprovalPolicy } from '../model/pipeline.js';
import type { PlanPromise } from './plan.js';
import { isContained, outsideOf } from './paths.js';

/** What a policy looks at: what a plan promises, or what a diff did. */
export type PolicyCase =
  | { readonly kind: 'plan'; readonly plan: PlanPromise }
  | {
      readonly kind: 'diff';
      readonly paths: readonly string[];
      readonly files: number;
      readonly lines: number;
    };

/** Why a policy does not approve; empty when it does. A policy never guesses: a plan that promises no size is not approved. */
export const policyObjections = (policy: ApprovalPolicy, subject: PolicyCase): string[] => {
  const outside =
    subject.kind === 'plan'
      ? subject.plan.paths.filter((path) => !isContained(path, policy.paths))
      : outsideOf(subject.paths, policy.paths);
  const { files, lines } = subject.kind === 'plan' ? subject.plan : subject;
  return [
    ...outside.map((path) => `\`${path}\` is outside the policy's paths (${policy.paths.join(', ')})`),
    ...over('files', files, policy.maxFiles),
    ...over('lines', lines, policy.maxLines),
  ];
};

const over = (unit: 'files' | 'lines', count: number | undefined, limit: number): string[] => {
  if (count === undefined)
    return [`the plan does not say how many ${unit} it changes (\`${unit}:\` in its front matter)`];
  return count > limit ? [`${count} ${unit} are more than the policy's ${limit}`] : [];
};

/** How a policy is named in the record: never as a person. */
export const policyName = (policy: ApprovalPolicy): string =>
  `policy (paths ${policy.paths.join(', ')}; at most ${policy.maxFiles} files, ${policy.maxLines} lines)`;
