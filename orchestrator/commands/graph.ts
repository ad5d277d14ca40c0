import { Problem } from '../model/failure.js';
import { renderGraph } from '../pipeline/render.js';
import { targetState } from '../machine/run-state.js';
import { printJson, usesColour } from './io.js';
import { bootRun, recordedFile } from './boot-run.js';
import { existingRun, flagText, oneTicket, pipelineFor, repositoryOf, type Session } from './session.js';

const FORMATS = ['ascii', 'mermaid', 'dot', 'svg'] as const;

/** `graph`: the DAG; with a ticket, every target with its status. */
export const graph = async (session: Session): Promise<number> => {
  const asked = flagText(session, 'format') ?? 'ascii';
  const format = FORMATS.find((name) => name === asked);
  if (format === undefined) {
    throw new Problem({
      kind: 'usage',
      message: `unknown format \`${asked}\``,
      next: `use ${FORMATS.join(', ')}`,
    });
  }
  const paths = repositoryOf(session);
  const hasTicket = session.request.tickets.length > 0;
  const booted = hasTicket ? bootRun(session, existingRun(session, paths, oneTicket(session))) : undefined;
  const { pipeline } = await pipelineFor(
    session,
    paths,
    booted === undefined ? undefined : recordedFile(booted),
  );
  const status =
    booted === undefined
      ? undefined
      : Object.fromEntries(pipeline.targets.map(({ name }) => [name, targetState(booted.run, name).value]));
  if (session.request.json) {
    printJson(session.io, {
      pipeline: pipeline.name,
      targets: pipeline.targets.map(({ number, name, needs }) => ({
        number,
        name,
        needs,
        status: status?.[name] ?? null,
      })),
    });
    return 0;
  }
  const colour = usesColour(session.io, 'stdout');
  session.io.stdout(
    `${renderGraph(pipeline, { format, colour, ...(status === undefined ? {} : { status }) }).trimEnd()}\n`,
  );
  return 0;
};
