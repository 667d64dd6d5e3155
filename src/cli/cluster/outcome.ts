import { bringsToSpec } from '../../model/plan/intent/intent.js';
import type { WaitResult } from '../../client/wait.js';
import { operationsOf, type Operation } from '../../model/cluster/operation.js';
import type { ApplyReply } from '../../model/cluster/contract.js';
import type { OutputsDocument } from '../../schema/output/documents.js';
import type { ClusterStatus } from '../../schema/output/status.js';
import type { AcceptedDocument, EndedDocument } from '../../schema/output/operation.js';
import type { PlanDocument } from '../../schema/output/plan.js';
import { cleanLine, cleanText } from '../clean-text.js';
import type { WaitOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { formatCount, formatDuration } from '../format.js';
import type { Output } from '../output.js';
import type { Session } from '../session.js';
import type { Shown } from '../verb.js';
import { describeLeft } from './plan/plan-text.js';
import { failuresOf, printFailures, printRecorded } from './failure-text.js';
import { nextSteps } from './next-steps.js';
import { driftLines } from './node-text.js';
import { printOutputsBelow, readShownOutputs } from './output-text.js';
import { type Planned, plannedShown } from './plan/preview.js';
import { followOperation, type FollowRequest } from './progress/follow-operation.js';

/** What a command that requests an operation has to show: a preview, the reply to the request, or the end. */
export type Outcome = Planned | Accepted | Ended;

interface Accepted {
  readonly name: string;
  readonly accepted: ApplyReply;
}

export interface Ended {
  readonly end: WaitResult;
  /** Of a cluster that matches its file. */
  readonly outputs?: OutputsDocument['outputs'];
  /** The operation had ended before it was requested again. */
  readonly unchanged?: boolean;
  /** The user accepts an end without some nodes. */
  readonly acceptsMissing?: boolean;
}

/** How a command waits for the end of its operation. */
export interface Waiting extends WaitOptions, Pick<FollowRequest, 'since' | 'fleeting'> {
  readonly acceptMinimum?: boolean;
}

/** Waits for the end of an accepted operation, unless `wait` is false. */
export async function finish(
  session: Session,
  name: string,
  accepted: ApplyReply,
  { wait, timeout, since, fleeting, acceptMinimum: acceptsMissing }: Waiting,
): Promise<Accepted | Ended> {
  const { operation, unchanged } = accepted;
  if (!wait) return { name, accepted };
  const end = await followOperation(session, { name, operation, timeout, since, fleeting });
  return {
    end,
    outputs: hasOutputs(end.operation) ? await readShownOutputs(session, name) : undefined,
    unchanged: unchanged === true && Date.parse(end.operation.endedAt ?? '') < since,
    acceptsMissing,
  };
}

function hasOutputs({ kind, state }: Operation): boolean {
  return state === 'done' && bringsToSpec(kind);
}

export const outcomeShown = {
  document: (outcome): PlanDocument | AcceptedDocument | EndedDocument => {
    if ('preview' in outcome) return plannedShown.document(outcome);
    if ('accepted' in outcome) {
      const { operation, clusterUid, unchanged } = outcome.accepted;
      return { cluster: outcome.name, clusterUid, operation: { id: operation }, unchanged };
    }
    const { status, operation } = outcome.end;
    const { outputs } = outcome;
    const ended = { cluster: status.name, clusterUid: status.uid, operation, outputs };
    return errorOf(outcome) === undefined
      ? { ...ended, unchanged: isUnchanged(outcome) || undefined }
      : { ...ended, failures: failuresOf(status, operation) };
  },
  print: (output, outcome) => {
    if ('preview' in outcome) plannedShown.print(output, outcome);
    else if ('accepted' in outcome) printAccepted(output, outcome);
    else if (outcome.end.operation.state === 'done' && errorOf(outcome) === undefined)
      printDone(output, outcome);
    else printUndone(output, outcome.end);
    if ('outputs' in outcome) printOutputsBelow(output, outcome.outputs);
  },
  error: (outcome) => ('end' in outcome ? errorOf(outcome) : undefined),
} satisfies Shown<[], Outcome>;

function printAccepted(output: Output, { name, accepted: { operation, unchanged } }: Accepted): void {
  output.line(
    unchanged === true
      ? `${name}: already requested as operation ${operation}`
      : `${name}: operation ${operation} is accepted`,
  );
  output.line(`next: heddle status ${name} --watch`);
}

function printDone(output: Output, outcome: Ended): void {
  if (output.json) return;
  const { operation, status } = outcome.end;
  const { kind, reason, abandoned = [] } = operation;
  output.line(describeDone(operation, status, isUnchanged(outcome)));
  const warnings = [
    ...(reason === undefined ? [] : [reason]),
    ...(bringsToSpec(kind)
      ? driftLines(status.nodes, Date.now()).map(
          (line) =>
            `${line}; no action was taken${status.locked === true ? ', because the file locks the cluster' : ''}`,
        )
      : []),
    ...abandoned.map((machine) => `abandoned without deletion: ${machine}`),
  ];
  const left = describeLeft(operation);
  if (left !== undefined) output.line(left);
  for (const warning of warnings) output.note(`warning: ${cleanLine(warning)}`);
}

function isUnchanged({ end, unchanged = false }: Ended): boolean {
  return unchanged || end.operation.unchanged === true;
}

function describeDone(
  operation: Operation,
  { name, nodes, scaled = {} }: ClusterStatus,
  unchanged: boolean,
): string {
  const { kind, intent, what, startedAt, requestedAt, endedAt, tasks } = operation;
  const counts = Object.entries(scaled).map(([group, { count }]) => `${group}=${count}`);
  const except = counts.length === 0 ? '' : ` (${counts.join(', ')} by scale)`;
  if (kind === 'delete') return `cluster ${name} is deleted`;
  if (unchanged)
    return kind === 'apply'
      ? `cluster ${name}: no changes${what === kind ? '' : ` (${what})`}${except}`
      : `cluster ${name}: ${what}: nothing to do`;
  const took =
    endedAt === undefined
      ? ''
      : ` in ${formatDuration(Date.parse(endedAt) - Date.parse(startedAt ?? requestedAt))}`;
  const done = `${formatCount(tasks.done, 'task')}${took}`;
  const count = formatCount(nodes.length - (operation.missing?.count ?? 0), 'node');
  if (operation.missing !== undefined) return `cluster ${name}: ${what}: ${count}, ${done}`;
  if (operation.left !== undefined && operation.left > 0) return `cluster ${name}: ${what}: ${done}`;
  if (kind === 'apply') return `${name} matches its file${except}: ${count}, ${done}`;
  if (kind === 'rollback') {
    const revision = 'revision' in intent ? intent.revision : undefined;
    const spec = revision === undefined ? 'its previous spec' : `revision ${revision}`;
    return `${name} matches ${spec}${except}: ${count}, ${done}`;
  }
  return `cluster ${name}: ${what}: ${done}`;
}

function printUndone(output: Output, { operation, status }: WaitResult): void {
  const { state } = operation;
  if (state === 'held' || state === 'done') printFailures(output, status, Date.now());
  if (state === 'failed') printRecorded(output, status.name, operation, Date.now());
  if (['held', 'done', 'failed', 'cancelled'].includes(state)) output.line();
}

/** The error that the end of an operation amounts to. */
function errorOf({ end: { operation, status }, acceptsMissing = false }: Ended): CliError | undefined {
  const { name, nodes } = status;
  const { id, state, what, reason, tasks } = operation;
  const next = `heddle status ${name}`;
  switch (state) {
    case 'done':
      return operation.missing === undefined || acceptsMissing
        ? undefined
        : new CliError('Failed', describeMissing(operation.missing, status), { next: 'heddle apply FILE' });
    case 'rejected':
      return new CliError(
        'Invalid',
        `cluster ${name} rejected the request, and nothing was changed:\n${cleanText(reason ?? '')}`,
      );
    case 'superseded':
      return new CliError(
        'Refused',
        `operation ${id} of ${name} (${what}) was superseded: ${reason ?? 'a later operation replaced it'}`,
        { next },
      );
    case 'held': {
      const failed = nodes.filter(({ failure }) => failure !== undefined).length;
      const why =
        failed === 0
          ? cleanText(reason ?? 'it cannot continue')
          : `${formatCount(failed, 'node')} failed, ${tasks.done} of ${tasks.total} tasks are done`;
      const [step] = nextSteps(status, Date.now());
      return new CliError('Held', `${cleanLine(what)} of ${name} is held: ${why}`, {
        next: step?.command ?? next,
        remedy: step?.remedy,
      });
    }
    case 'failed': {
      const rollback = rollbackAfter(operation, status);
      const after = rollback === undefined ? '' : `\noperation ${rollback.id} rolls it back`;
      const why = cleanLine((reason ?? 'a task failed').split('\n')[0] ?? '');
      return new CliError('Failed', `${cleanLine(what)} of ${name} failed: ${why}${after}`, {
        next: rollback === undefined ? next : `${next} --watch`,
      });
    }
    case 'cancelled':
      return new CliError(
        'Cancelled',
        `operation ${id} of ${name} (${what}) was ${reason ?? 'cancelled'}; completed work stays`,
        { next },
      );
    default:
      return undefined;
  }
}

function describeMissing(
  { count, nodes: named }: NonNullable<Operation['missing']>,
  { name, nodes }: ClusterStatus,
): string {
  const more = count > named.length ? ` and ${count - named.length} more` : '';
  return `cluster ${name} has ${nodes.length - count} of ${formatCount(nodes.length, 'node')}; missing: ${named.join(', ')}${more}. Apply again to retry them, or pass --accept-minimum to accept this`;
}

function rollbackAfter({ id }: Operation, status: ClusterStatus): Operation | undefined {
  return operationsOf(status).findLast((other) => other.kind === 'rollback' && Number(other.id) > Number(id));
}
