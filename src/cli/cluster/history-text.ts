import type { Revision } from '../../model/cluster/revision.js';
import type { Operation } from '../../model/cluster/operation.js';
import { cleanLine } from '../clean-text.js';
import type { Output, Style } from '../output.js';
import { formatTable } from '../table.js';
import { formatDuration, formatMoment } from '../format.js';

const styles: Readonly<Partial<Record<Operation['state'], Style>>> = {
  held: 'red',
  failed: 'red',
  rejected: 'red',
  running: 'yellow',
  done: 'green',
};

/** A row for each operation, followed by the reason if it did not simply succeed. */
export function printHistory(output: Output, operations: readonly Operation[], now: number): void {
  if (operations.length === 0) {
    output.line('no operations');
    return;
  }
  const rows = operations.map((operation) => [
    operation.id,
    stateOf(operation),
    formatMoment(operation.requestedAt),
    tookOf(operation, now),
    tasksOf(operation),
    operation.by,
    operation.what,
  ]);
  const [head = '', ...lines] = formatTable(
    ['ID', 'STATE', 'REQUESTED', 'TOOK', 'TASKS', 'BY', 'WHAT'],
    rows,
  );
  output.line(output.fit(head), 'bold');
  operations.forEach(({ state, reason, abandoned = [] }, index) => {
    output.line(output.fit(lines[index] ?? ''), styles[state]);
    if (reason !== undefined) output.line(output.fit(cleanLine(`    ${reason.split('\n')[0]}`)));
    for (const machine of abandoned)
      output.line(output.fit(cleanLine(`    abandoned without deletion: ${machine}`)));
  });
}

/** The accepted changes of the spec. */
export function printRevisions(output: Output, revisions: readonly Revision[]): void {
  if (revisions.length === 0) return;
  output.line();
  output.table(
    ['REVISION', 'REQUESTED', 'OPERATION', 'BY', 'WHAT'],
    revisions.map(({ number, requestedAt, operation, by, what }, index) => [
      `${number}${index === 0 ? ' (newest)' : ''}`,
      formatMoment(requestedAt),
      operation,
      by,
      what,
    ]),
  );
}

function stateOf({ state, paused, unchanged }: Operation): string {
  if (paused !== undefined) return 'paused';
  return unchanged === true && state === 'done' ? 'unchanged' : state;
}

function tookOf({ startedAt, endedAt }: Operation, now: number): string {
  return startedAt === undefined
    ? '-'
    : formatDuration((endedAt === undefined ? now : Date.parse(endedAt)) - Date.parse(startedAt));
}

function tasksOf({ tasks: { done, total } }: Operation): string {
  return done === total ? String(done) : `${done}/${total}`;
}
