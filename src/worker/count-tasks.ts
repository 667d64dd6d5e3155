import { CompleteAsyncError, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { readSealedResult } from '../model/messages/sealed-result.js';
import { engineKinds, type EngineKind } from '../model/node/failure.js';
import { drifts } from '../model/node/drift.js';
import type { ProbeReply } from '../model/node/probe.js';
import { failureKinds, type FailureKind } from '../plugins/errors.js';
import type { Point } from './metric-table.js';

/**
 * Counts attempts of tasks, and what probes found: in the process that ran them, so that
 * nothing is counted in a replay.
 */
export function countTasks(publish: (points: readonly Point[]) => void): ActivityInterceptorsFactory {
  // An alert on an increase needs a value before the first one.
  publish([...drifts, unknownDrift].map((drift) => driftPoint(drift, 0)));
  return ({ info: { activityType: action } }) => ({
    inbound: {
      async execute(input, next): Promise<unknown> {
        const count = (result: string): void =>
          publish([{ name: 'heddle_task_attempts', tags: { action, result }, value: 1 }]);
        let sealed: unknown;
        try {
          sealed = await next(input);
        } catch (error) {
          if (!(error instanceof CompleteAsyncError)) count(resultOf(error));
          throw error;
        }
        count('done');
        if (action === 'PROBE_NODES')
          publish(driftPoints(readSealedResult(sealed).result as Partial<ProbeReply>));
        return sealed;
      },
    },
  });
}

/** Types of failures; any other type is the name of an error that is none of them. */
const knownKinds = [...failureKinds, ...engineKinds];

function resultOf(error: unknown): FailureKind | EngineKind {
  if (error instanceof ApplicationFailure)
    return knownKinds.find((kind) => kind === error.type) ?? 'Internal';
  return Context.current().cancellationSignal.aborted ? 'Cancelled' : 'Internal';
}

const unknownDrift = 'unknown';

function driftPoints({ observations = [], unknown = [] }: Partial<ProbeReply>): readonly Point[] {
  const found = [...observations.map(({ seen }) => seen), ...unknown.map(() => unknownDrift)];
  return found.map((drift) => driftPoint(drift, 1));
}

function driftPoint(drift: string, value: number): Point {
  return { name: 'heddle_drift_observations', tags: { drift }, value };
}
