import { call } from '../../../client/call.js';
import type { Action } from '../../../model/action.js';
import type { Json, JsonObject } from '../../../model/json.js';
import type { LogArchive } from '../../../store/store.js';
import { taskTitle } from '../../../model/names.js';
import { stripSecrets } from '../../../model/node/strip-secrets.js';
import { cleanLine, cleanText } from '../../clean-text.js';
import type { ServerOptions } from '../../configuration.js';
import { CliError } from '../../errors.js';
import type { Output } from '../../output.js';
import type { Session } from '../../session.js';
import { verb } from '../../verb.js';
import { formatDuration, formatMoment } from '../../format.js';
import type { LogTimes } from '../log/find-logs.js';
import { readLogEnd } from '../log/log-parts.js';
import { openArchive } from '../log/open-archive.js';
import {
  asObject,
  decodeFailure,
  decodeFirst,
  decodeResult,
  textOf,
} from '../../../client/decode-history.js';
import { findTask, type FoundTask, type TaskSearch } from './find-task.js';
import { workflowsOf } from './history-events.js';

const shownLines = 20;
/** Histories can be long. */
const searchMs = 20_000;

/** A task as a person or a program sees it; holds no secret. */
interface TaskView {
  readonly taskId: string;
  readonly title: string;
  readonly state: string;
  readonly attempts: number;
  readonly scheduledAt: string;
  readonly endedAt?: string;
  readonly tookMs?: number;
  readonly taskQueue: string;
  readonly worker?: string;
  readonly input?: Json;
  readonly result?: Json;
  readonly failure?: { readonly kind?: string; readonly message: string; readonly exitCode?: Json };
  readonly log?: string;
  /** The end of the log, or of the output that came with the outcome. */
  readonly tail: readonly string[];
}

/** One task from the cluster's history: its input, attempts and outcome. */
export const show = verb(
  async (session: Session, name: string, wanted: string, _options: ServerOptions) => {
    const { found, known } = await call(
      session.temporal,
      `task of ${cleanLine(name)}`,
      () => searchTask(session, name, wanted),
      { waitMs: searchMs },
    );
    if (found !== undefined) return describeTask(session, found);
    const some = known.length === 0 ? 'It has none.' : `Its last tasks: ${known.slice(-5).join(', ')}.`;
    throw new CliError(
      'NotFound',
      `cluster ${cleanLine(name)} has no task ${JSON.stringify(wanted)} in its history. ${some}`,
      { next: `heddle nodes ${name}` },
    );
  },
  { print: printTask },
);

/** Tasks of a large cluster are in the histories of its groups. */
async function searchTask({ temporal }: Session, cluster: string, wanted: string): Promise<TaskSearch> {
  const known: string[] = [];
  for (const workflowId of await workflowsOf(temporal, cluster)) {
    const search = await findTask(temporal, workflowId, wanted);
    if (search.found !== undefined) return search;
    known.push(...search.known);
  }
  return { known };
}

async function describeTask({ temporal, config }: Session, { run, pending }: FoundTask): Promise<TaskView> {
  const { end } = run;
  const outcome = end?.result ? await decodeResult(temporal, end.result) : {};
  const result = asObject(outcome['result']);
  const cause = end?.failure ?? pending?.lastFailure;
  const failure = cause ? await decodeFailure(temporal, cause) : undefined;
  const details = asObject(failure?.details);
  const input = asObject(await decodeFirst(temporal, run.input));
  const report = { ...details, ...outcome };
  const log = textOf(report['log']);
  const { action, nodeId, service, taskId, scheduledAt, taskQueue, worker } = run;
  return {
    taskId,
    title: taskTitle(action as Action, nodeId, service),
    state: end?.state ?? pending?.state ?? 'scheduled',
    attempts: pending?.attempt ?? run.attempt ?? 1,
    scheduledAt: new Date(scheduledAt).toISOString(),
    taskQueue,
    endedAt: end === undefined ? undefined : new Date(end.at).toISOString(),
    tookMs: end === undefined ? undefined : end.at - scheduledAt,
    worker,
    input: stripSecrets(input),
    result: Object.keys(result).length > 0 ? stripSecrets(result) : undefined,
    failure: failure && { kind: failure.type, message: failure.message, exitCode: details['exitCode'] },
    log,
    tail: await readTail(openArchive(config), log, { from: scheduledAt, until: end?.at }, report),
  };
}

async function readTail(
  archive: LogArchive,
  log: string | undefined,
  times: LogTimes,
  report: JsonObject,
): Promise<readonly string[]> {
  const lines = log === undefined ? [] : await readLogEnd(archive, log, times, shownLines);
  if (lines.length > 0) return lines;
  return ['stdout', 'stderr']
    .flatMap((stream) => (textOf(report[stream]) ?? '').split('\n'))
    .filter((line) => line !== '')
    .slice(-shownLines);
}

function printTask(output: Output, view: TaskView): void {
  const took = view.tookMs === undefined ? '' : ` after ${formatDuration(view.tookMs)}`;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['id', view.taskId],
    ['state', `${view.state}${took}`],
    ['scheduled', formatMoment(view.scheduledAt)],
    ['attempts', String(view.attempts)],
    ['queue', view.taskQueue],
    ['worker', view.worker],
    ['log', view.log],
  ];
  output.line(view.title, 'bold');
  for (const [name, value] of rows) if (value !== undefined) output.line(`  ${name.padEnd(10)} ${value}`);
  if (view.failure !== undefined) {
    const { kind, exitCode, message } = view.failure;
    const exit = exitCode === undefined ? '' : `, exit code ${JSON.stringify(exitCode)}`;
    printBlock(output, `failure (${kind ?? 'unknown'}${exit})`, message.split('\n'));
  }
  if (view.result !== undefined)
    printBlock(output, 'result', JSON.stringify(view.result, undefined, 2).split('\n'));
  if (view.input !== undefined)
    printBlock(output, 'input (without secrets)', JSON.stringify(view.input, undefined, 2).split('\n'));
  if (view.tail.length > 0) printBlock(output, 'end of its log', view.tail);
}

function printBlock(output: Output, title: string, lines: readonly string[]): void {
  output.line(`  ${title}:`);
  for (const line of lines) output.raw(`    ${cleanText(line).replaceAll('\n', ' ')}`);
}
