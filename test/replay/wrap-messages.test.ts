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
        [{ heddle: 'start cluster', args: [{ uid: 'u' }] }],
        [{ heddle: 'signal requestDelete', args: [{ by: 'me' }] }],
        [{ heddle: 'update apply', args: [1] }],
        [{ heddle: 'update check', args: [] }],
        [{ heddle: 'update take', args: ['a', 'b'] }],
        [],
      ]);
    },
  );

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
      update('check', { heddle: 'update check', args: [] }),
      update('take', { heddle: 'update take', args: ['a', 'b'] }),
      { timerStartedEventAttributes: { timerId: '1' } },
    ],
  };
}

function payloadOf(value: unknown): Payload {
  return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) };
}

function valuesOf(payloads: readonly Payload[] | null | undefined): readonly unknown[] {
  return (payloads ?? []).map(({ data }): unknown => JSON.parse(Buffer.from(data ?? []).toString()));
}
