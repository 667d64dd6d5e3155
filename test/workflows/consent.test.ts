import { unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ApplyOptions } from '../../src/client/heddle-client.js';
import type { WaitResult } from '../../src/client/wait.js';
import { rangesByGroup } from '../../src/model/plan/ranges.js';
import { type Stack, startStack } from '../harness/stack.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const patience = { everyMs: 100 } as const;

describe('an operation with the consent of a user', () => {
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    // Some nodes are in a group's workflow.
    stack = await startStack({ config: { scale: { inlineNodes: 2, groupNodes: 2 } } });
    ledger = openLedger(stack.folder);
    await stack.startWorker();
  });

  async function request(
    name: string,
    count: number,
    options: ApplyOptions = {},
    gate?: string,
  ): Promise<string> {
    const start = ledger.script(gate === undefined ? {} : { gate });
    const spec = closed({
      name,
      nodes: { app: nodes(count, ['app']) },
      services: { app: { actions: { start } } },
    });
    return (await stack.client.apply(spec, options)).operation;
  }

  const end = (name: string, operation: string): Promise<WaitResult> =>
    stack.client.waitFor(name, operation, patience);

  async function apply(
    name: string,
    count: number,
    options?: ApplyOptions,
  ): Promise<WaitResult['operation']> {
    return (await end(name, await request(name, count, options))).operation;
  }

  async function hostnames(name: string): Promise<readonly string[]> {
    const all = await stack.service.machines();
    return all
      .map(({ hostname }) => String(hostname))
      .filter((hostname) => hostname.startsWith(`${name}-`))
      .toSorted();
  }

  it('is rejected before it loses another one', async () => {
    expect((await apply('more', 4)).state).toBe('done');
    const before = await hostnames('more');
    expect(await apply('more', 2, { consent: { losable: { app: [[4, 4]] } } })).toMatchObject({
      state: 'rejected',
      reason: expect.stringMatching(/it would remove the machine of app-3, whose loss was not confirmed/),
    });
    expect(await hostnames('more')).toEqual(before);
    expect((await apply('more', 4)).state).toBe('done');
    expect((await apply('more', 2, { consent: { losable: { app: [[3, 4]] } } })).state).toBe('done');
    expect(await hostnames('more')).toHaveLength(2);
    const scale = { kind: 'scale', counts: { app: 1 } } as const;
    const { operation } = await stack.client.operate('more', scale, { consent: { losable: {} } });
    expect((await end('more', operation)).operation.state).toBe('rejected');
    const rollback = { kind: 'rollback', revision: 1 } as const;
    const back = await stack.client.operate('more', rollback, { consent: { losable: {} } });
    expect((await end('more', back.operation)).operation.state).toBe('done');
    expect(await hostnames('more')).toHaveLength(4);
  });

  it('is judged when it begins if it waits for another one', async () => {
    expect((await apply('late', 1)).state).toBe('done');
    const larger = await request('late', 3, {}, 'late');
    await ledger.written('late app-3 app START begin');
    // As previewed, it adds a node.
    const smaller = await request('late', 2, { consent: { losable: {} }, queue: true });
    await ledger.open('late');
    expect((await end('late', larger)).operation.state).toBe('done');
    expect((await end('late', smaller)).operation).toMatchObject({
      state: 'rejected',
      reason: expect.stringMatching(/the machine of app-3/),
    });
    expect(await hostnames('late')).toHaveLength(3);
  });

  it('is refused if the cluster is not the one that was seen', async () => {
    expect((await apply('changed', 2)).state).toBe('done');
    const scale = { kind: 'scale', counts: { app: 1 } } as const;
    const { basis } = await stack.client.preview('changed', scale);
    const consent = { losable: { app: [[2, 2]] }, basedOn: basis } as const;
    const { operation } = await stack.client.operate('changed', { kind: 'replace', nodes: ['app-2'] });
    expect((await end('changed', operation)).operation.state).toBe('done');
    await expect(stack.client.operate('changed', scale, { consent })).rejects.toThrow(
      /cluster changed has changed since this was planned: operation 2 \(replace app-2 by test\) is done now; plan again/,
    );
    const deletion = await stack.client.delete('changed');
    await stack.client.waitFor('changed', deletion.operation ?? '', patience);
    expect((await apply('changed', 2)).state).toBe('done');
    await expect(stack.client.operate('changed', scale, { consent })).rejects.toThrow(/was created again/);
    expect(await hostnames('changed')).toHaveLength(2);
  });

  it('is refused if the held operation was continued since', async () => {
    const held = join(stack.folder, 'continued');
    const specOf = (count: number) =>
      closed({
        name: 'continued',
        nodes: { app: nodes(count, ['app']) },
        services: { app: { actions: { start: ledger.script({ body: `[ ! -e ${held} ] || exit 7` }) } } },
      });
    const first = await stack.client.apply(specOf(1));
    expect((await end('continued', first.operation)).operation.state).toBe('done');
    await writeFile(held, '');
    const larger = await stack.client.apply(specOf(2));
    expect((await end('continued', larger.operation)).operation.state).toBe('held');
    const rollback = { kind: 'rollback' } as const;
    const failed = await stack.client.preview('continued', rollback);
    await stack.client.retry('continued');
    expect((await end('continued', larger.operation)).operation.state).toBe('held');
    const refused = (basedOn: typeof failed.basis, state: string) =>
      expect(stack.client.operate('continued', rollback, { consent: { basedOn } })).rejects.toThrow(
        `operation 2 (apply by test) is ${state} now; plan again`,
      );
    await refused(failed.basis, 'held');
    const { basis } = await stack.client.preview('continued', rollback);
    await unlink(held);
    await stack.client.retry('continued');
    expect((await end('continued', larger.operation)).operation.state).toBe('done');
    await refused(basis, 'done');
    expect(await hostnames('continued')).toHaveLength(2);
  });

  it('is planned over a held operation as it was previewed', async () => {
    const held = join(stack.folder, 'held');
    const specOf = (body: string, count = 3) =>
      closed({
        name: 'held',
        nodes: { app: nodes(count, ['app']) },
        services: { app: { actions: { start: ledger.script({ body }) } } },
      });
    const breaks = `[ ! -e ${held} ] || exit 7`;
    const first = await stack.client.apply(specOf(breaks));
    expect((await end('held', first.operation)).operation.state).toBe('done');
    await writeFile(held, '');
    const replacement = await stack.client.operate('held', { kind: 'replace', nodes: ['app-3'] });
    expect((await end('held', replacement.operation)).operation.state).toBe('held');
    const again = { kind: 'replace', nodes: ['app-3'] } as const;
    for (const limit of [{ losable: { app: [[3, 3]] as const } }, { planDigest: 'any' }])
      await expect(stack.client.operate('held', again, { consent: limit })).rejects.toThrow(
        'is held and continues with the replacement, so this request cannot limit what it removes',
      );
    const { plan, basis, losses } = await stack.client.plan(specOf(':', 2));
    expect(losses.lost).toEqual(['app-3']);
    const losable = rangesByGroup(losses.lost);
    const consent = { basedOn: basis, losable, planDigest: plan.digest };
    const { operation } = await stack.client.apply(specOf(':', 2), { consent });
    expect((await end('held', operation)).operation.state).toBe('done');
    expect(await hostnames('held')).toHaveLength(2);
  });

  it('replaces a machine that is gone', async () => {
    expect((await apply('gone', 2)).state).toBe('done');
    const machine = (await stack.service.machines()).find(({ hostname }) => hostname === 'gone-app-2');
    await stack.service.call('DELETE', `/v1/machines/${String(machine?.id)}`);
    expect((await apply('gone', 2, { consent: { losable: {} } })).state).toBe('done');
    expect(await hostnames('gone')).toHaveLength(2);
  });
});
