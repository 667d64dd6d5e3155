import { setTimeout as pause } from 'node:timers/promises';
import type { ChaosWorld } from './chaos-world.js';
import { lookUp } from './look-up.js';
import { moments, type Met, type Moment } from './moments.js';
import type { Random } from './random.js';

export interface Kill {
  readonly number: number;
  /** Seconds since the first. */
  readonly at: number;
  readonly victim: 'worker' | 'all workers' | 'server' | 'server and workers';
  readonly moment: string;
}

/** How long named points are waited for, in ms, before the kill comes at random; and how many at a time. */
const patienceMs = 4_000;
const atATime = 8;

export interface KillOptions {
  readonly kills: number;
  readonly random: Random;
  readonly onKill: (kill: Kill) => void;
}

/**
 * Kills workers and the server, one after the other, at every named point before any comes again, and at
 * random.
 */
export async function killAround(world: ChaosWorld, { kills, random, onKill }: KillOptions): Promise<void> {
  const began = Date.now();
  let order: readonly Moment[] = [];
  for (let number = 1; number <= kills; number += 1) {
    await untilWork(world);
    await pause(random.between(50, 800));
    const named = random.between(0, 1) < 0.8;
    const wished = random.between(0, 1);
    if (order.length < atATime)
      order = [...order, ...random.shuffled(moments.filter((moment) => !order.includes(moment)))];
    const met = named ? await meetFirst(world, order.slice(0, atATime)) : undefined;
    if (met !== undefined) order = order.filter((moment) => moment !== met.moment);
    const everybody = wished < 0.35 || (met !== undefined && met.pid === undefined);
    const victim =
      wished < 0.08 ? 'server' : wished < 0.12 ? 'server and workers' : everybody ? 'all workers' : 'worker';
    await strike(world, victim, met?.pid, random);
    onKill({ number, at: (Date.now() - began) / 1_000, victim, moment: met?.moment.name ?? 'at random' });
    await met?.release();
  }
}

/**
 * Who kills faster than workers come up kills nothing but starts: something must have been done since the
 * last.
 */
async function untilWork({ machines, ledger }: ChaosWorld): Promise<void> {
  const size = async (): Promise<number> => (await machines.calls()) + (await ledger.size());
  const before = await size();
  await lookUp(async () => ((await size()) > before ? true : undefined), AbortSignal.timeout(15_000));
}

/** The first of several moments that the work comes to; the others are forgotten. */
async function meetFirst(
  world: ChaosWorld,
  candidates: readonly Moment[],
): Promise<(Met & { readonly moment: Moment }) | undefined> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), patienceMs);
  let first: (Met & { readonly moment: Moment }) | undefined;
  await Promise.all(
    candidates.map(async (moment) => {
      const met = await moment.meet(world, over.signal);
      if (met === undefined) return;
      if (first !== undefined) {
        await met.release();
        return;
      }
      first = { ...met, moment };
      over.abort();
    }),
  );
  clearTimeout(timer);
  return first;
}

async function strike(
  { crew, server }: ChaosWorld,
  victim: Kill['victim'],
  pid: number | undefined,
  random: Random,
): Promise<void> {
  while (crew.alive().length === 0) await pause(50);
  if (victim === 'worker') {
    await crew.kill(pid ?? random.pick(crew.alive()).pid);
    return;
  }
  if (victim !== 'server') await Promise.all(crew.alive().map((worker) => crew.kill(worker.pid)));
  if (victim !== 'all workers') await server.killAndStart();
}

/** A line for each kill. */
export function describeKills(log: readonly Kill[]): string {
  return log
    .map(({ number, at, victim, moment }) => `${number}. ${at.toFixed(1)} s: ${victim}, ${moment}`)
    .join('\n');
}
