import { QueryNotRegisteredError, QueryRejectedError, ServiceError } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { askAgain } from '../../src/client/ask-again.js';
import { unreadHistory } from '../../src/model/unread-history.js';

function refusal(code: number, message: string): ServiceError {
  return new ServiceError('Workflow Update failed', {
    cause: Object.assign(new Error(message), { code, details: message, metadata: {} }),
  });
}

/**
 * Asks by the interceptor of a kind; the server answers at the third time, and refuses before in these ways.
 */
async function ask(
  kind: 'query' | 'startUpdate' | 'startUpdateWithStart',
  errors: readonly Error[],
): Promise<{ readonly answer: unknown; readonly ids: readonly unknown[] }> {
  const ids: unknown[] = [];
  const next = async (input: {
    readonly options?: { readonly updateId?: string };
    readonly updateOptions?: { readonly updateId?: string };
  }): Promise<unknown> => {
    ids.push((input.options ?? input.updateOptions)?.updateId);
    const error = errors[ids.length - 1];
    return error === undefined ? Promise.resolve('answered') : Promise.reject(error);
  };
  const intercept = askAgain[kind] as unknown as (input: object, next: unknown) => Promise<unknown>;
  return {
    answer: await intercept(kind === 'startUpdateWithStart' ? { updateOptions: {} } : { options: {} }, next),
    ids,
  };
}

const taskFailed = refusal(
  9,
  'Unable to perform workflow execution update due to unexpected workflow task failure.',
);

describe('askAgain', () => {
  it('repeats a query that a worker could not answer yet, or that was one of too many', async () => {
    const errors = [
      new QueryNotRegisteredError(unreadHistory.message, 3),
      refusal(8, 'consistent query buffer is full, this may be caused by too many queries'),
    ];
    expect((await ask('query', errors)).answer).toBe('answered');
  });

  it('reports that a workflow has ended, if no worker may answer any more', async () => {
    const inputs: { readonly queryRejectCondition?: number }[] = [];
    const next = async (input: { readonly queryRejectCondition?: number }): Promise<unknown> => {
      inputs.push(input);
      throw input.queryRejectCondition === undefined
        ? new QueryNotRegisteredError(unreadHistory.message, 3)
        : new QueryRejectedError(5);
    };
    const query = askAgain.query as unknown as (input: object, next: unknown) => Promise<unknown>;
    await expect(query({}, next)).rejects.toThrow(/was ended in the middle of a workflow task/);
    expect(inputs.map(({ queryRejectCondition }) => queryRejectCondition)).toEqual([
      ...Array.from({ length: 5 }, () => undefined),
      2,
    ]);
  });

  it('repeats an update under the same id if there were too many at once', async () => {
    const errors = [
      refusal(8, 'limit on number of concurrent in-flight updates has been reached (10)'),
      refusal(14, 'workflow update was aborted'),
    ];
    for (const kind of ['startUpdate', 'startUpdateWithStart'] as const) {
      const { answer, ids } = await ask(kind, errors);
      expect(answer).toBe('answered');
      expect(ids).toEqual([expect.any(String), ids[0], ids[0]]);
    }
    await expect(ask('startUpdate', [refusal(14, 'connection refused')])).rejects.toThrow('Update failed');
  });

  it('repeats an update under the same id if its workflow task was lost', async () => {
    for (const kind of ['startUpdate', 'startUpdateWithStart'] as const) {
      const { answer, ids } = await ask(kind, [taskFailed, taskFailed]);
      expect(answer).toBe('answered');
      expect(ids).toEqual([expect.any(String), ids[0], ids[0]]);
    }
  });

  it('reports after many attempts that a query was not answered, not that it is unknown', async () => {
    const error = await ask(
      'query',
      Array.from({ length: 500 }, () => new QueryNotRegisteredError(unreadHistory.message, 3)),
    ).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ cause: expect.any(QueryNotRegisteredError) });
  });

  it('leaves everything else to its caller', async () => {
    await expect(ask('query', [new QueryNotRegisteredError('no such query', 3)])).rejects.toThrow(
      'no such query',
    );
    await expect(ask('startUpdate', [refusal(9, 'workflow is closed')])).rejects.toThrow(
      'Workflow Update failed',
    );
  });
});
