import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { machineWorkflowId, reservationsWorkflowId } from '../../../src/model/names.js';
import { type GrpcFate, type GrpcProxy, startGrpcProxy } from '../../harness/grpc-proxy.js';
import { host, openGround } from '../../harness/machine/ground.js';
import { startStack, type Stack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';

const polled = temporal.api.workflowservice.v1.PollWorkflowTaskQueueResponse;
const image = `${host.name}@${host.revision}`;

describe('a reservation while a machine does not answer', () => {
  let stack: Stack;
  let proxy: GrpcProxy;
  let silent: Promise<void> | undefined;
  beforeAll(async () => {
    proxy = await startGrpcProxy(
      inject('temporalAddress'),
      async ({ method, message }): Promise<GrpcFate> => {
        if (silent === undefined || method !== 'PollWorkflowTaskQueue' || message.length === 0) return 'pass';
        const { workflowExecution } = polled.decode(message);
        if (workflowExecution?.workflowId === machineWorkflowId('lab-1')) await silent;
        return 'pass';
      },
    );
    stack = await startStack({ temporalAddress: proxy.address, distPath: inject('distPath') });
    await stack.startWorker();
    const ground = openGround(stack);
    for (const name of ['lab-1', 'lab-2']) await ground.add(name);
  });
  afterAll(async () => {
    await stack.stop();
    await proxy.close();
  });

  const searches = async (): Promise<number> => {
    const handle = stack.client.temporal.workflow.getHandle(reservationsWorkflowId);
    const { events } = await handle.fetchHistory();
    return (events ?? []).filter(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'FIND_CANDIDATES',
    ).length;
  };

  it('gets that machine if no other one is free', async () => {
    const { reservations } = stack.client;
    await reservations.create({ image, user: 'ada', machines: ['lab-2'], for: '2h' });
    let answer = (): void => undefined;
    silent = new Promise((resolve) => (answer = resolve));
    const create = reservations.create({ image, user: 'bob', for: '1h' });
    create.catch(() => undefined);
    await until('the search is repeated', async () => (await searches()) === 3);
    answer();
    expect((await create).machines.map(({ name }) => name)).toEqual(['lab-1']);
    await expect(reservations.create({ image, user: 'eve', for: '1h' })).rejects.toMatchObject({
      code: 'Refused',
      message: expect.stringContaining('0 of the 2 matching machines are free'),
    });
    expect(await searches()).toBe(4);
  });
});
