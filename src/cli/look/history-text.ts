import type { Operation } from '../../model/cluster/operation.js';
import { cleanLine } from '../clean-text.js';
import type { Output, Style } from '../output.js';
import { cutTo, formatTable } from '../table.js';
import { formatDuration, formatMoment } from '../time-text.js';

const styles: Readonly<Partial<Record<Operation['state'], Style>>> = {
  held: 'red',
  failed: 'red',
  rejected: 'red',
  running: 'yellow',
  done: 'green',
};

/** A row for each, and below it why it is not simply done. */
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
  const [head = '', ...lines] = formatTable(['ID', 'STATE', 'ASKED', 'TOOK', 'TASKS', 'BY', 'WHAT'], rows);
  const fit = (line: string): string =>
    output.columns === undefined ? line : cutTo(line, output.columns - 1);
  output.line(output.style('bold', fit(head)));
  lines.forEach((line, index) => {
    const operation = operations[index];
    const style = operation === undefined ? undefined : styles[operation.state];
    output.line(style === undefined ? fit(line) : output.style(style, fit(line)));
    if (operation?.reason !== undefined)
      output.line(fit(`    ${cleanLine(operation.reason.split('\n')[0] ?? '')}`));
    for (const machine of operation?.abandoned ?? [])
      output.line(fit(`    given up undeleted: ${cleanLine(machine)}`));
  });
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
