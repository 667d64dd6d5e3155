import { clusterRows } from './clusters.js';
import { machineRows } from './machines.js';
import { readUpdateName } from './read.js';
import { serviceRows } from './services.js';
import { anything, flag, optional, text } from './shape.js';
import type { Arguments, WorkflowMessages } from './argument-shapes.js';

/**
 * Every message of every Heddle workflow, with the shape of its arguments. A message without a row is
 * refused. Shapes hold what a handler relies on; whether a request makes sense now is the handler's question.
 * State that a workflow carries to its next run is checked in outline only: the run before sealed it.
 */
export const messageTable = { ...clusterRows, ...machineRows, ...serviceRows } satisfies Readonly<
  Record<string, WorkflowMessages>
>;

/** The messages of a workflow type; undefined for a type that is not Heddle's. */
export function messagesOf(workflowType: string): WorkflowMessages | undefined {
  return find(messageTable, workflowType);
}

/** The arguments of a message; undefined if the workflow has no such message. */
export function argumentsOf(
  messages: WorkflowMessages,
  kind: 'updates' | 'signals' | 'queries',
  name: string,
): Arguments | undefined {
  if (kind === 'updates' && name === readUpdateName)
    return Object.keys(messages.queries).length === 0 ? undefined : readArguments;
  return find<Arguments>(messages[kind], name);
}

/** Whether the read is repeated, the name of a query, and its arguments, which have shapes of their own. */
const readArguments: Arguments = [flag, text(100), optional(anything), optional(anything)];

/** True where the workflow id is one of Heddle's, and its workflow has such a message. */
export function isHeddleMessage(
  workflowId: string,
  kind: 'updates' | 'signals' | 'queries',
  name: string,
): boolean {
  return Object.values<WorkflowMessages>(messageTable).some(
    (messages) => messages.ids.test(workflowId) && argumentsOf(messages, kind, name) !== undefined,
  );
}

/** The problem with the arguments of a message; undefined if there is none. */
export function checkArguments(shapes: Arguments, args: readonly unknown[]): string | undefined {
  if (args.length > shapes.length) return `has ${args.length} arguments; the maximum is ${shapes.length}`;
  const place = (index: number): string => (shapes.length === 1 ? '' : `argument ${index + 1}`);
  for (const [index, shape] of shapes.entries()) {
    const problem = shape(args[index], place(index));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function find<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
