import type { OperateIntent } from '../../../src/client/index.js';
import type { Operation } from '../../../src/model/cluster/operation.js';
import type { ClusterStatus } from '../../../src/schema/output/status.js';
import { askSurely, outlast } from './ask.js';
import type { Account, ChaosWorld } from './chaos-world.js';
import { judgeCluster, judgeWhole } from './oracle.js';
import type { Random } from './random.js';
import { smallCluster, type Shape } from './specs.js';

export interface LifeOptions {
  readonly name: string;
  readonly account: Account;
  readonly random: Random;
  /** Operations between the create and the delete. */
  readonly operations: number;
  /** Whether it should come to its end now. */
  readonly isOver: () => boolean;
  readonly say: (line: string) => void;
}

/** What a life came to. */
export interface LifeReport {
  readonly operations: number;
  /** Operations that were held, with what held them, and went on when a person said retry. */
  readonly held: readonly string[];
  /** What the oracle says. */
  readonly wrong: readonly string[];
}

/** Makes a cluster, operates it, deletes it, and asks the oracle after each operation. */
export async function live(world: ChaosWorld, options: LifeOptions): Promise<LifeReport> {
  const { name, account, random, operations, isOver, say } = options;
  const { client } = world.stack;
  const parts = world.partsOf(account);
  const wrong: string[] = [];
  const held: string[] = [];
  let shape: Shape = { web: random.whole(1, 2), config: 0, cache: random.between(0, 1) < 0.5 };
  let count = 0;

  const apply = (): Promise<{ readonly operation: string }> => client.apply(smallCluster(name, shape, parts));
  const ask = (make: () => Promise<{ readonly operation?: string }>): Promise<string> => {
    count += 1;
    return askSurely(client, name, make);
  };
  /** To the end, as a person would see it through; then the oracle. */
  async function see(id: string, expected: readonly Operation['state'][]): Promise<ClusterStatus> {
    let ended = await outlast(client, name, id);
    for (
      let tries = 0;
      ended.operation.state === 'held' && !expected.includes('held') && tries < 5;
      tries += 1
    ) {
      held.push(
        `${name} ${ended.operation.what}: ${ended.operation.reason ?? ''} ${(ended.operation.failures ?? []).map(({ nodeId, action, message }) => `${nodeId} ${action} ${message}`).join('; ')}`,
      );
      await client.retry(name).catch(() => undefined);
      ended = await outlast(client, name, id);
    }
    const { operation, status } = ended;
    say(
      `${name} ${operation.what}: ${operation.state} after ${((Date.now() - Date.parse(operation.startedAt ?? operation.requestedAt)) / 1_000).toFixed(1)} s`,
    );
    if (!expected.includes(operation.state))
      wrong.push(
        `${name}: operation ${id} (${operation.what}) is ${operation.state}: ${operation.reason ?? ''}`,
      );
    wrong.push(...(await judgeCluster(world, status)));
    if (operation.state === 'done' && operation.kind !== 'delete')
      wrong.push(...(await judgeWhole(world, status)));
    return status;
  }
  const operate = async (intent: OperateIntent): Promise<void> => {
    await see(await ask(() => client.operate(name, intent)), ['done']);
  };
  const steps: Readonly<Record<string, () => Promise<void>>> = {
    scale: async () => {
      shape = { ...shape, web: random.whole(1, 3) };
      await see(await ask(apply), ['done']);
    },
    configure: async () => {
      shape = { ...shape, config: shape.config + 1 };
      await see(await ask(apply), ['done']);
    },
    service: async () => {
      shape = { ...shape, cache: !shape.cache };
      await see(await ask(apply), ['done']);
    },
    again: async () => {
      await see(await ask(apply), ['done']);
    },
    restart: () => operate({ kind: 'restart', services: ['db'] }),
    rolling: () => operate({ kind: 'restart', services: ['web'], width: 1 }),
    reconfigure: () => operate({ kind: 'reconfigure', services: ['web'], restart: true }),
    replace: () => operate({ kind: 'replace', nodes: ['web-1'] }),
    exec: () => operate({ kind: 'exec', command: world.ledger.command('sleep 0.2') }),
    stopAndStart: async () => {
      await operate({ kind: 'stop', services: ['db'] });
      await operate({ kind: 'start', services: [] });
    },
    cancel: async () => {
      shape = { ...shape, web: random.whole(1, 3), config: shape.config + 1 };
      const id = await ask(apply);
      await client.cancel(name).catch(() => undefined);
      await see(id, ['cancelled', 'done']);
      await see(await ask(apply), ['done']);
    },
    rollback: async () => {
      const before = shape;
      shape = { ...shape, config: shape.config + 1, web: random.whole(1, 3) };
      await see(await ask(apply), ['done']);
      await operate({ kind: 'rollback' });
      shape = before;
    },
  };
  await see(await ask(apply), ['done']);
  const names = Object.keys(steps);
  for (let step = 0; step < operations && !isOver(); step += 1) await steps[random.pick(names)]?.();
  if (random.between(0, 1) < 0.3 && !isOver()) {
    // The delete meets an operation that is under way.
    shape = { ...shape, config: shape.config + 1 };
    await ask(apply);
  }
  await see(await ask(() => client.delete(name)), ['done']);
  return { operations: count, held, wrong };
}
