import type { ClientOptions, WorkflowClientInterceptor } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { sealMessages } from '../../src/client/seal-messages.js';
import { openMessage, sealMessage } from '../../src/model/messages/envelope.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { heddle } from '../../src/temporal-plugin.js';

/** The arguments that a signal is sent with. */
async function signalled(workflowId: string, signalName: string, args: unknown[]): Promise<unknown[]> {
  let sent: unknown[] = [];
  const input = { signalName, args, workflowExecution: { workflowId, runId: '' }, headers: {} };
  await sealMessages.signal?.(input, (next) => {
    sent = next.args;
    return Promise.resolve();
  });
  return sent;
}

describe("the client's interceptor", () => {
  it('seals a message to a Heddle workflow once, for its purpose', async () => {
    const sealed = [{ heddle: 'signal requestDelete', args: [{ by: 'me' }] }];
    expect(await signalled('cluster/web', 'requestDelete', [{ by: 'me' }])).toEqual(sealed);
    expect(await signalled('cluster/web', 'requestDelete', sealed)).toEqual(sealed);
    expect(await signalled('image/web', 'check', [])).toEqual([{ heddle: 'signal check', args: [] }]);
  });

  it('leaves messages to other workflows, and messages of other names, unchanged', async () => {
    expect(await signalled('orders/7', 'requestDelete', [1])).toEqual([1]);
    expect(await signalled('cluster/web', 'toString', [1])).toEqual([1]);
    expect(await signalled('my/cluster/web', 'requestDelete', [1])).toEqual([1]);
  });

  it('is added once, after user interceptors, in both forms that the SDK accepts', () => {
    const key = generateKey();
    const plugin = heddle({ keys: formatKeys({ current: key.id, keys: [key] }) });
    const own: WorkflowClientInterceptor = {};
    const twice = plugin.configureClient(plugin.configureClient({ interceptors: { workflow: [own] } }));
    const list = twice.interceptors?.workflow as readonly unknown[];
    expect([list[0], list.at(-1), list.length]).toEqual([own, sealMessages, 3]);
    const interceptors: ClientOptions['interceptors'] = { workflow: { calls: [() => own] } };
    const { workflow } = plugin.configureClient(plugin.configureClient({ interceptors })).interceptors ?? {};
    const calls = workflow !== undefined && 'calls' in workflow ? (workflow.calls ?? []) : [];
    expect(calls.map((make) => make({ workflowId: 'cluster/web' })).at(-1)).toBe(sealMessages);
    expect(calls).toHaveLength(3);
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
    expect(openMessage('update apply', any, 99)).toEqual({ ok: true, args: [1] });
    expect(openMessage('update apply', any, 100)).toMatchObject({ ok: false });
    expect(openMessage('activity DELETE', any, 99)).toMatchObject({ ok: false });
  });
});
