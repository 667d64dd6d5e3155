import { ServiceError, type ClientOptions, type WorkflowClientInterceptor } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { askAgain } from '../../src/client/ask-again.js';
import { recipientsOf, type Recipient } from '../../src/client/check-keys.js';
import { renewStarts, sealMessages } from '../../src/client/seal-messages.js';
import { grpcStatus } from '../../src/model/grpc-status.js';
import { openMessage, sealMessage } from '../../src/model/messages/envelope.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { heddle } from '../../src/temporal-plugin.js';

const [first, second] = [{ firstRun: 'run-1' }, { firstRun: 'run-2' }];

/** Messages as they are sent to workflows of which this is found, one look after the other. */
function sealing(...found: readonly Recipient[]) {
  let looks = 0;
  let known: Recipient | undefined;
  const interceptor = sealMessages({
    recipients: {
      find: async () => (known ??= found[Math.min(looks++, found.length - 1)] ?? 'absent'),
      forget: () => {
        known = undefined;
      },
    },
    now: async () => 5,
  });
  const sent: unknown[][] = [];
  return {
    interceptor,
    sent,
    looks: () => looks,
    signal: async (workflowId: string, signalName: string, args: unknown[]): Promise<unknown[]> => {
      const input = { signalName, args, workflowExecution: { workflowId, runId: '' }, headers: {} };
      await interceptor.signal?.(input, async (next) => {
        sent.push(next.args);
      });
      return sent.at(-1) ?? [];
    },
    /** The types of the failures with which the workflow refuses it, one after the other. */
    update: async (...refusals: readonly string[]): Promise<void> => {
      const workflowExecution = { workflowId: 'cluster/web' };
      const input = { updateName: 'apply', args: [1], workflowExecution, options: {}, headers: {} };
      await interceptor.startUpdate?.(input as never, async ({ args }) => {
        sent.push(args);
        const type = refusals[sent.length - 1];
        const failure = type === undefined ? undefined : { applicationFailureInfo: { type } };
        return { updateId: 'u', workflowRunId: 'r', outcome: failure && { failure } };
      });
    },
  };
}

const seal = (to?: { readonly firstRun: string }): object => ({
  id: expect.stringMatching(/^[\w-]{36}$/),
  at: 5,
  ...(to && { to: to.firstRun }),
});

describe("the client's interceptor", () => {
  it('seals a message to a Heddle workflow once, for its purpose and the workflow that runs', async () => {
    const { signal } = sealing(first, second);
    const sealed = await signal('cluster/web', 'requestDelete', [{ by: 'me' }]);
    expect(sealed).toEqual([{ heddle: 'signal requestDelete', args: [{ by: 'me' }], ...seal(first) }]);
    expect(await signal('cluster/web', 'requestDelete', sealed)).toEqual(sealed);
    expect(await signal('image/web', 'check', [])).toEqual([
      { heddle: 'signal check', args: [], ...seal(second) },
    ]);
    expect(await sealing('absent').signal('image/web', 'check', [])).toEqual([
      { heddle: 'signal check', args: [], ...seal() },
    ]);
  });

  it('leaves messages to other workflows, and messages of other names, unchanged', async () => {
    const { signal } = sealing(first);
    expect(await signal('orders/7', 'requestDelete', [1])).toEqual([1]);
    expect(await signal('cluster/web', 'toString', [1])).toEqual([1]);
    expect(await signal('my/cluster/web', 'requestDelete', [1])).toEqual([1]);
  });

  it('looks once for the workflow of several updates, and again when the workflow is another one', async () => {
    const { update, sent, looks } = sealing(first, second);
    await update();
    await update();
    expect(looks()).toBe(1);
    await update('', '', 'SealAgain', 'Refused');
    expect(sent.map(([one]) => (one as { to: string }).to)).toEqual(
      [first, first, first, second].map(({ firstRun }) => firstRun),
    );
    expect(new Set(sent.map(([one]) => (one as { id: string }).id)).size).toBe(4);
  });

  it('gives up when the workflow refuses each seal', async () => {
    const { update, sent } = sealing(first);
    await update(...Array.from({ length: 9 }, () => 'SealAgain'));
    expect(sent).toHaveLength(4);
  });

  const startInput = {
    workflowType: 'pool',
    workflowStartOptions: { workflowId: 'pool/web', args: [{ heddle: { uid: 'u' } }] },
    updateName: 'renew',
    updateArgs: [['r']],
    updateOptions: {},
  };
  type Sent = { readonly id: string; readonly at: number; readonly to?: string };

  it('seals an update for the start that it comes with, unless the workflow runs', async () => {
    const start = async (found: Recipient): Promise<readonly Sent[]> => {
      const sent: unknown[][] = [];
      await sealing(found).interceptor.startUpdateWithStart?.(startInput as never, async (next) => {
        sent.push(next.workflowStartOptions.args, next.updateArgs);
        return {} as never;
      });
      return sent.map(([one]) => one) as Sent[];
    };
    const [started, update] = await start('absent');
    expect(started?.id).toMatch(/./);
    expect(update?.to).toBe(started?.id);
    expect((await start(first))[1]?.to).toBe(first.firstRun);
    // The running workflow would refuse it if it named the start.
    expect((await start('unreadable'))[1]).not.toHaveProperty('to');
  });

  it.each(['__proto__', 'constructor', 'prototype'])(
    'sends no start with which its workflow would fail, such as one with a field %s',
    async (key) => {
      const registration = { provider: 'local', flavor: 'f', image: 'i', system: null };
      const fields: unknown = JSON.parse(`{"machine": {"${key}": 1}}`);
      const args = [{ registration: { ...registration, fields }, uid: 'u', by: 'me' }];
      const options = { workflowId: 'machine/a', args };
      const start = sealing('absent').interceptor.startWithDetails?.(
        { workflowType: 'machine', options, headers: {} } as never,
        async () => ({}) as never,
      );
      await expect(start).rejects.toMatchObject({
        code: 'Invalid',
        message: `nothing was sent: the start of a machine is invalid: registration.fields: must not have a field named ${key}`,
      });
    },
  );

  it('seals the start anew when a request is repeated, and not the message', async () => {
    let now = 5;
    const { interceptor } = sealing('absent');
    const renewing = renewStarts({ now: async () => now });
    const sent: (readonly Sent[])[] = [];
    const send = async (input: unknown): Promise<never> => {
      const { workflowStartOptions, updateArgs } = input as typeof startInput;
      sent.push([workflowStartOptions.args[0], updateArgs[0]] as unknown as Sent[]);
      now += 1_000;
      if (sent.length < 3)
        throw new ServiceError('lost', {
          cause: Object.assign(new Error('Workflow Task in failed state'), {
            code: 9,
            details: '',
            metadata: {},
          }),
        });
      return {} as never;
    };
    await interceptor.startUpdateWithStart?.(startInput as never, (sealed) =>
      askAgain.startUpdateWithStart!(sealed, (same) => renewing.startUpdateWithStart!(same, send as never)),
    );
    const [starts, messages] = [sent.map(([one]) => one), sent.map(([, one]) => one)];
    expect(new Set(starts.map((one) => one?.id)).size).toBe(3);
    expect(starts.map((one) => one?.at)).toEqual([5, 1_005, 2_005]);
    expect(messages).toEqual([messages[0], messages[0], messages[0]]);
  });

  it('is added once, after user interceptors, in both forms that the SDK accepts', () => {
    const key = generateKey();
    const plugin = heddle({ keys: formatKeys({ current: key.id, keys: [key] }) });
    const own: WorkflowClientInterceptor = {};
    const twice = plugin.configureClient(plugin.configureClient({ interceptors: { workflow: [own] } }));
    const list = twice.interceptors?.workflow as readonly unknown[];
    // What is repeated is repeated as it was sealed, but for the start.
    expect([list[0], list[2], list.length]).toEqual([own, askAgain, 4]);
    const interceptors: ClientOptions['interceptors'] = { workflow: { calls: [() => own] } };
    const { workflow } = plugin.configureClient(plugin.configureClient({ interceptors })).interceptors ?? {};
    const calls = workflow !== undefined && 'calls' in workflow ? (workflow.calls ?? []) : [];
    expect(calls.map((make) => make({ workflowId: 'cluster/web' })).at(-2)).toBe(askAgain);
    expect(calls).toHaveLength(4);
  });
});

describe('the workflow that a message is sent to', () => {
  it.each([
    ['absent', 'if the server knows none', grpcStatus.notFound],
    ['unreadable', 'if the caller may not describe it', grpcStatus.permissionDenied],
    ['unreadable', 'if the server does not answer', grpcStatus.unavailable],
  ] as const)('is %s %s', async (recipient, _, code) => {
    const error = Object.assign(new Error('no'), { code, details: 'no', metadata: {} });
    const workflowService = { describeWorkflowExecution: () => Promise.reject(error) };
    const recipients = recipientsOf({ connection: { workflowService } as never, namespace: 'default' });
    expect(await recipients.find('cluster/web')).toBe(recipient);
  });
});

describe('an envelope', () => {
  it('omits trailing undefined arguments, which JSON would turn into null', () => {
    expect(sealMessage('start turn', [undefined])).toEqual([{ heddle: 'start turn', args: [] }]);
    expect(sealMessage('update set', ['keys', null])).toEqual([
      { heddle: 'update set', args: ['keys', null] },
    ]);
  });

  it('of the codec server opens any message until it expires, and never an activity', () => {
    const any = [{ heddle: '*', args: [1], until: 100 }];
    expect(openMessage('update apply', any, 99)).toEqual({ ok: true, args: [1], seal: { until: 100 } });
    expect(openMessage('update apply', any, 100)).toMatchObject({ ok: false });
    expect(openMessage('activity DELETE', any, 99)).toMatchObject({ ok: false });
  });
});
