/** Who approves a plan in the sample's pipeline: a person, or a policy that it declares. */
export type DemoApproval = 'person' | 'policy';

const APPROVAL: Readonly<Record<DemoApproval, string>> = {
  person: `    gates:
      - approval: person`,
  policy: `    gates:
      # Recorded as a policy, never as a person.
      - approval:
          policy: { paths: ["src/**", "test/**", "docs/**"], maxFiles: 6, maxLines: 200 }`,
};

/** The `targets.yaml` of the sample repository: the built-in pipeline with scripted workers and the project's own check. */
export const demoPipelineText = ({ approval }: { readonly approval: DemoApproval }): string => `\
# The pipeline of this repository: the built-in one (targets 0 to 8), and what is different here.
# \`orchestrate validate\` checks it, \`orchestrate graph\` draws it.
version: 1
name: pebble
extends: builtin

# Each of the four is a process of its own that performs tickets/TICKET.script.yaml; no model is asked. For real work
# name an agent instead, e.g. builder: { adapter: command, command: [claude, -p] }
workers:
  archaeologist: { adapter: scripted }
  builder: { adapter: scripted }
  critic: { adapter: scripted }
  scribe: { adapter: scripted }

targets:
  approved-plan:
${APPROVAL[approval]}
  implementation-diff:
    gates:
      - not-empty
      - blast-radius
      # Run by the orchestrator itself, on a clean checkout of what the builder left.
      - check: { name: tests, run: [node, --test], timeout: 2m }
`;
