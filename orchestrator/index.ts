/** What a team needs to embed the orchestrator: load and judge a pipeline, run the command line, read the record. */
export { main, type MainOptions } from './cli/main.js';
export type { Io } from './commands/io.js';
export { loadPipeline, validatePipeline } from './pipeline/load.js';
export type { PipelineProblem } from './pipeline/problems.js';
export { renderGraph } from './pipeline/render.js';
export { boot, type Booted } from './record/boot.js';
export { statusView, type StatusView, type TargetView } from './record/view.js';
export type { JournalLine, RunEvent, Receipt } from './model/event.js';
export type { ChildEnd, ForkRequest, Usage, Verdict, WaitStatus } from './model/child.js';
export type { Gate, Pipeline, Recipe, Target, WorkerSpec } from './model/pipeline.js';
export { EXIT_CODE, Problem, type Failure, type FailureKind } from './model/failure.js';
