import type { Payload } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { wrapMessages } from '../../src/replay/wrap-messages.js';
import type { History } from '../../src/replay/read-history.js';

describe('a decoded export', () => {
  it.each(['heddle', 'heddle/groups'])(
    'of queue %s regains the envelopes that the codec server removed',
    (queue) => {
      const { events = [] } = wrapMessages(exportOf(queue));
      expect(
        events?.map((event) =>
          valuesOf(
            event.workflowExecutionStartedEventAttributes?.input?.payloads ??
              event.workflowExecutionSignaledEventAttributes?.input?.payloads ??
              event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.args?.payloads,
          ),
        ),
      ).toEqual([
        [{ heddle: 'start cluster', args: [{ uid: 'u' }], id: 'event 1', at: 1_000 }],
        [{ heddle: 'signal requestDelete', args: [{ by: 'me' }], id: 'event 2', at: 2_000 }],
        [{ heddle: 'update apply', args: [1], id: 'event 3', at: 3_000 }],
        [{ heddle: 'update check', args: [], id: 'event 4', at: 4_000 }],
        [{ heddle: 'update take', args: ['a', 'b'], id: 'event 5', at: 5_000 }],
        [],
      ]);
    },
  );

  it('of a further run, and of a child, regains the seal by which it was started', () => {
    const sealOfFirst = (more: object): unknown => {
      const { events } = exportOf('heddle');
      const [start] = events ?? [];
      const attributes = { ...start?.workflowExecutionStartedEventAttributes, ...more };
      const wrapped = wrapMessages({
        events: [{ ...start, workflowExecutionStartedEventAttributes: attributes }],
      });
      return valuesOf(wrapped.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads)[0];
    };
    expect(sealOfFirst({ continuedExecutionRunId: 'run-1' })).toMatchObject({ after: { run: 'run-1' } });
    expect(sealOfFirst({ parentWorkflowExecution: { runId: 'run-2' } })).toMatchObject({ parent: 'run-2' });
  });

  it('of another application stays unchanged', () => {
    const history = exportOf('other');
    expect(wrapMessages(history)).toBe(history);
  });
});

function exportOf(queue: string): History {
  const update = (name: string, ...args: unknown[]): NonNullable<History['events']>[number] => ({
    workflowExecutionUpdateAcceptedEventAttributes: {
      acceptedRequest: { input: { name, args: { payloads: args.map(payloadOf) } } },
    },
  });
  return {
    events: [
      {
        workflowExecutionStartedEventAttributes: {
          workflowType: { name: 'cluster' },
          taskQueue: { name: queue },
          input: { payloads: [payloadOf({ uid: 'u' })] },
        },
      },
      {
        workflowExecutionSignaledEventAttributes: {
          signalName: 'requestDelete',
          input: { payloads: [payloadOf({ by: 'me' })] },
        },
      },
      update('apply', 1),
      update('check', { heddle: 'update check', args: [], id: 'gone', at: 1, to: 'run' }),
      update('take', { heddle: 'update take', args: ['a', 'b'] }),
      { timerStartedEventAttributes: { timerId: '1' } },
    ].map((event, index) => ({ ...event, ...numbered(index + 1) })),
  };
}

/** As parsed JSON has them. */
function numbered(eventId: number): object {
  return { eventId: String(eventId), eventTime: { seconds: String(eventId), nanos: 0 } };
}

function payloadOf(value: unknown): Payload {
  return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) };
}

function valuesOf(payloads: readonly Payload[] | null | undefined): readonly unknown[] {
  return (payloads ?? []).map(({ data }): unknown => JSON.parse(Buffer.from(data ?? []).toString()));
}
