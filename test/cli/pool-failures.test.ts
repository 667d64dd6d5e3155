import type { Client } from '@temporalio/client';
import { ApplicationFailure, defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { expect, it } from 'vitest';
import { failuresOf } from '../../src/cli/pool/task-failures.js';
import type { Session } from '../../src/cli/session.js';
import type { PoolClient } from '../../src/client/pool/pool-client.js';

it('a failure of a node of a pool comes with its remedy', async () => {
  const failure = (details: object) =>
    defaultFailureConverter.errorToFailure(
      ApplicationFailure.create({ message: 'no login', type: 'Auth', details: [details] }),
      defaultPayloadConverter,
    );
  const task = (node: string, details: object): object => ({
    activityId: `uid/${node}#1/-/CONFIRM/op`,
    attempt: 2,
    lastFailure: failure(details),
  });
  const temporal = {
    options: {
      namespace: 'default',
      loadedDataConverter: {
        payloadCodecs: [],
        payloadConverter: defaultPayloadConverter,
        failureConverter: defaultFailureConverter,
      },
    },
    workflowService: {
      describeWorkflowExecution: () =>
        Promise.resolve({
          pendingActivities: [task('small-1', { remedy: 'correct the key' }), task('small-2', {})],
        }),
    },
  } as unknown as Client;
  expect([...(await failuresOf({ temporal } as Session, { name: 'ci' } as PoolClient))]).toEqual([
    ['small-1', 'no login (Auth, attempt 2 follows); correct the key'],
    ['small-2', 'no login (Auth, attempt 2 follows)'],
  ]);
});
