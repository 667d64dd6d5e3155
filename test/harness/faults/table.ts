import { createHash } from 'node:crypto';
import { describe, it } from 'vitest';
import type { Harness } from './harness.js';
import { modes, play, type Mode } from './modes.js';
import { operationCases, type OperationCase } from './operations.js';
import type { TaskName } from './points.js';

export interface SweepCut {
  /** The modes that need nothing but a usual server. */
  readonly modes: readonly Mode[];
  /** Whether a case is played; all unless given. */
  readonly plays?: (operation: OperationCase, mode: Mode, task: TaskName) => boolean;
}

export const usualModes: readonly Mode[] = modes.filter((mode) => mode !== 'ends its run');

/** The table: each operation, each way in which something goes wrong, each task. */
export function playFaults(open: () => Harness, { modes: wanted, plays = () => true }: SweepCut): void {
  for (const operation of operationCases) {
    for (const mode of wanted) {
      const tasks = operation.tasks.filter((task) => plays(operation, mode, task));
      if (tasks.length === 0) continue;
      describe.concurrent(`${operation.name} ${mode}`, () => {
        it.each(tasks)('at %s', async (task) => {
          const name = `${operation.name}-${modes.indexOf(mode)}-${operation.tasks.indexOf(task)}`;
          await play(open(), { name, operation, task, mode });
        });
      });
    }
  }
}

/** A tenth of the cases, another one for each seed. */
export function playsInTenth(seed: string): NonNullable<SweepCut['plays']> {
  return ({ name }, mode, task) =>
    createHash('sha256').update(`${seed} ${name} ${mode} ${task}`).digest().readUInt32BE(0) % 10 === 0;
}

/** One task of every sixth pair of operation and mode, another task for each. */
export function playsInCut(operation: OperationCase, mode: Mode, task: TaskName): boolean {
  const place = operationCases.indexOf(operation) + modes.indexOf(mode);
  return place % 6 === 0 && operation.tasks.indexOf(task) === (place * 5) % operation.tasks.length;
}
