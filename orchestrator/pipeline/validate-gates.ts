import type { Builtin, Gate } from '../model/pipeline.js';
import { listNames, type Finding } from './problems.js';
import type { Draft } from './resolve.js';
import { descendantsOf, type Provision } from './upstream.js';
import type { Scene } from './scene.js';

type GateProblem = Pick<Finding, 'message' | 'fix'>;

const approvalProblem = (gate: Gate, draft: Draft, scene: Scene): GateProblem | undefined => {
  if (gate.kind !== 'approval' || gate.by === 'person') return undefined;
  const judges = draft.makes === 'plan' || draft.makes === 'diff';
  if (judges || scene.upstream(draft, 'plan') || scene.upstream(draft, 'diff')) return undefined;
  return {
    message: `no policy can approve \`${draft.origin}\`: neither it nor anything before it makes a plan or a diff`,
    fix: 'use `approval: person`, or move the gate to the target that makes the plan or the diff',
  };
};

const diffProblem = (gate: Gate, draft: Draft, scene: Scene): GateProblem | undefined => {
  if (draft.makes !== 'diff') {
    return {
      message: `nobody can pass \`${gate.kind}\` here: \`${draft.origin}\` makes no diff`,
      fix: 'write `makes: diff`, or move the gate to the target that makes the diff',
    };
  }
  if (gate.kind !== 'blast-radius' || scene.upstream(draft, 'plan')) return undefined;
  return {
    message: `nobody can pass \`blast-radius\` here: nothing before \`${draft.origin}\` makes a plan`,
    fix: 'add a target with `makes: plan` to its `needs`, or remove the gate',
  };
};

const verdictProblem = (draft: Draft): GateProblem | undefined =>
  draft.makes === 'review'
    ? undefined
    : {
        message: `nobody can pass \`verdict\` here: \`${draft.origin}\` gives none`,
        fix: 'write `makes: review`, or remove the gate',
      };

const gateProblem = (gate: Gate, draft: Draft, scene: Scene): GateProblem | undefined => {
  switch (gate.kind) {
    case 'approval':
      return approvalProblem(gate, draft, scene);
    case 'blast-radius':
    case 'not-empty':
      return diffProblem(gate, draft, scene);
    case 'verdict':
      return verdictProblem(draft);
    case 'check':
      return undefined;
  }
};

/** A gate that nobody can pass is found now, not after an hour of work. */
export const gateFindings = (scene: Scene): readonly Finding[] =>
  scene.drafts.flatMap((draft) =>
    draft.damaged
      ? []
      : draft.gates.flatMap((gate, at) => {
          const problem = gateProblem(gate, draft, scene);
          return problem === undefined ? [] : [{ path: ['targets', draft.origin, 'gates', at], ...problem }];
        }),
  );

interface Requirement {
  readonly provision: Provision;
  readonly because: string;
  readonly fix: string;
}

const BUILTIN_NEEDS: Readonly<Record<Builtin, readonly Requirement[]>> = {
  'read-init-d': [],
  ticket: [],
  commit: [
    {
      provision: 'diff',
      because: 'commits what was made and reviewed',
      fix: 'add the target with `makes: diff`, or its review, to its `needs`',
    },
  ],
  push: [
    {
      provision: 'commit',
      because: 'pushes the commit',
      fix: 'add the target with `builtin: commit` to its `needs`',
    },
  ],
  land: [
    {
      provision: 'push',
      because: 'lands what was pushed',
      fix: 'add the target with `builtin: push` to its `needs`',
    },
  ],
};

const TREE: Requirement = {
  provision: 'ticket',
  because: 'needs a tree',
  fix: 'add a target with `builtin: ticket` and make it a prerequisite',
};
const REVIEW: Requirement = {
  provision: 'diff',
  because: 'reviews a diff',
  fix: 'add the target with `makes: diff` to its `needs`',
};
const PROVIDER: Readonly<Record<Provision, string>> = {
  ticket: '`builtin: ticket`',
  plan: '`makes: plan`',
  diff: '`makes: diff`',
  review: '`makes: review`',
  commit: '`builtin: commit`',
  push: '`builtin: push`',
};

const requirementsOf = ({ recipe, makes }: Draft): readonly Requirement[] => {
  if (recipe.kind === 'builtin')
    return recipe.builtin === 'commit' ? [TREE, ...BUILTIN_NEEDS.commit] : BUILTIN_NEEDS[recipe.builtin];
  if (makes === 'files') return [];
  return makes === 'review' ? [TREE, REVIEW] : [TREE];
};

const missingSteps = (draft: Draft, scene: Scene): readonly Finding[] =>
  requirementsOf(draft)
    .filter(({ provision }) => !scene.upstream(draft, provision))
    .map(({ provision, because, fix }) => ({
      path: ['targets', draft.origin, 'needs'],
      message: `\`${draft.origin}\` ${because}, but nothing before it has ${PROVIDER[provision]}`,
      fix,
    }));

const pillarFindings = (scene: Scene): readonly Finding[] => {
  const review = scene.drafts.find(({ makes }) => makes === 'review');
  if (review === undefined || scene.resolved.settings.pillars.length > 0) return [];
  const message = `\`pillars\` is empty, so \`${review.origin}\` has nothing to answer`;
  return [{ path: ['pillars'], message, fix: 'list at least one, or remove the key for the six defaults' }];
};

/** Facts of a run hold one ticket, one commit, one push: a second would overwrite the first. */
const repeatedBuiltins = (scene: Scene): readonly Finding[] => {
  const first = new Map<Builtin, Draft>();
  return scene.drafts.flatMap((draft): readonly Finding[] => {
    if (draft.recipe.kind !== 'builtin') return [];
    const { builtin } = draft.recipe;
    const other = first.get(builtin);
    if (other === undefined) {
      first.set(builtin, draft);
      return [];
    }
    const message = `\`${draft.name}\` is a second \`builtin: ${builtin}\` after \`${other.name}\``;
    return [{ path: ['targets', draft.origin, 'builtin'], message, fix: 'remove one of them' }];
  });
};

const canBeRejected = ({ makes, gates, recipe }: Draft): boolean =>
  makes === 'review' || gates.length > 0 || (recipe.kind === 'builtin' && recipe.builtin === 'land');

const unknownReject = (draft: Draft, onReject: string, scene: Scene): GateProblem => {
  const items = scene.drafts.filter(({ origin }) => origin === onReject);
  if (items.length > 0) {
    const names = listNames(
      items.map(({ name }) => name),
      5,
    );
    return {
      message: `\`onReject\` of \`${draft.origin}\` is \`${onReject}\`, which stands for several targets`,
      fix: `name one of ${names}`,
    };
  }
  const near = scene.suggest(onReject, scene.byName.keys());
  return {
    message: `\`onReject\` of \`${draft.origin}\` is \`${onReject}\`, and there is no such target`,
    fix: near === undefined ? 'name a target that comes before it' : `did you mean \`${near}\`?`,
  };
};

const rejectFindings = (scene: Scene): readonly Finding[] => {
  const names = new Set(scene.drafts.flatMap(({ onReject }) => (onReject === undefined ? [] : [onReject])));
  const after = descendantsOf(scene.drafts, names);
  const ordered = new Set(scene.order.map(({ name }) => name));
  return scene.drafts.flatMap((draft): readonly Finding[] => {
    const { onReject, origin, name } = draft;
    if (onReject === undefined || draft.damaged) return [];
    const path = ['targets', origin, 'onReject'];
    if (!scene.byName.has(onReject)) return [{ path, ...unknownReject(draft, onReject, scene) }];
    if (ordered.has(name) && after.get(onReject)?.has(name) !== true) {
      const message = `\`onReject\` of \`${origin}\` is \`${onReject}\`, which does not come before it`;
      return [
        {
          path,
          message,
          expected: 'a target that it needs, directly or not',
          fix: `add \`${onReject}\` to the \`needs\` of \`${origin}\`, or name another target`,
        },
      ];
    }
    if (canBeRejected(draft)) return [];
    const message = `\`onReject\` of \`${origin}\` has no effect: it has no gate and is no review`;
    return [{ path, at: 'key', message, fix: 'add a gate, or remove `onReject`' }];
  });
};

/** Steps that lack what they work on. */
export const stepFindings = (scene: Scene): readonly Finding[] => [
  ...scene.drafts.flatMap((draft) => (draft.damaged ? [] : missingSteps(draft, scene))),
  ...pillarFindings(scene),
  ...repeatedBuiltins(scene),
  ...rejectFindings(scene),
];
