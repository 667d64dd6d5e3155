import type { Account, ChaosWorld } from './chaos-world.js';
import { watchProcesses } from './canary.js';
import { describeKills, type Kill, killAround } from './killer.js';
import { live, type LifeReport } from './lives.js';
import { judgeEnd } from './oracle.js';
import { openRandom } from './random.js';
import { startWeather } from './weather.js';

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** Clusters that live at a time. */
  readonly clusters?: number;
  /** Takes a line for whatever happens. */
  readonly say?: (line: string) => void;
}

export interface ChaosReport {
  readonly seed: number;
  readonly kills: readonly Kill[];
  readonly seconds: number;
  readonly lives: number;
  readonly operations: number;
  readonly machines: number;
  readonly scripts: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly held: readonly string[];
  /** What the oracle says; empty when everything that is promised held. */
  readonly wrong: readonly string[];
}

/**
 * Clusters live and die while everything around them is killed, until the kills are done and all have come to
 * their end.
 */
export async function runChaos(
  world: ChaosWorld,
  { kills, seed, clusters = 5, say = () => undefined }: ChaosOptions,
): Promise<ChaosReport> {
  const random = openRandom(seed);
  const began = Date.now();
  const log: Kill[] = [];
  const onKill = (kill: Kill): void => {
    log.push(kill);
    say(describeKills([kill]));
  };
  let killing = true;
  const weather = startWeather(world.stack.service, random.fork('weather'));
  const processes = watchProcesses([world.secret]);
  const accounts: readonly Account[] = ['local', 'local', 'local', 'patient'];
  const slot = async (index: number): Promise<readonly LifeReport[]> => {
    const reports: LifeReport[] = [];
    const own = random.fork(`slot ${index}`);
    for (let count = 1; killing; count += 1) {
      const account = accounts[index % accounts.length] ?? 'local';
      const name = `${account}-${index}-${count}`;
      const report = await live(world, {
        name,
        account,
        random: own,
        operations: own.whole(2, 7),
        isOver: () => !killing,
        say,
      }).catch((error: unknown) => broken(name, error));
      for (const line of [...report.held, ...report.wrong]) say(line);
      reports.push(report);
    }
    return reports;
  };
  const slots = Promise.all(Array.from({ length: clusters }, (_, index) => slot(index)));
  let faults: Readonly<Record<string, number>> = {};
  try {
    await killAround(world, { kills, random: random.fork('killer'), onKill });
  } finally {
    killing = false;
    faults = await weather.stop();
  }
  const reports = (await slots).flat();
  const shown = processes.stop();
  return {
    seed,
    kills: log,
    seconds: (Date.now() - began) / 1_000,
    lives: reports.length,
    faults,
    operations: reports.reduce((sum, { operations }) => sum + operations, 0),
    machines: (await world.machines.creations()).length,
    scripts: (await world.ledger.executions()).length,
    held: reports.flatMap(({ held }) => held),
    wrong: [...reports.flatMap(({ wrong }) => wrong), ...(await judgeEnd(world)), ...shown],
  };
}

function broken(name: string, error: unknown): LifeReport {
  return {
    operations: 0,
    held: [],
    wrong: [
      `${name}: ${error instanceof Error ? `${error.message} ${error.cause instanceof Error ? error.cause.message : ''}` : String(error)}`,
    ],
  };
}

/** For people: what was done, and, where something is wrong, how to do it again. */
export function describeReport({
  seed,
  kills,
  seconds,
  lives,
  operations,
  machines,
  scripts,
  faults,
  held,
  wrong,
}: ChaosReport): string {
  const killed = Object.entries(countBy(kills.map(({ victim }) => victim)))
    .map(([victim, count]) => `${count} ${victim}`)
    .join(', ');
  const named = kills.filter(({ moment }) => moment !== 'at random').length;
  return [
    `seed ${seed}: ${kills.length} kills (${killed}; ${named} at named points) in ${seconds.toFixed(0)} s`,
    `${lives} clusters, ${operations} operations (${held.length} held and retried), ${machines} machines, ${scripts} scripts; faults ${JSON.stringify(faults)}`,
    ...held.map((line) => `held: ${line}`),
    ...(wrong.length === 0
      ? []
      : [`WRONG (HEDDLE_SEED=${seed} repeats the decisions):`, ...wrong, 'Kills:', describeKills(kills)]),
  ].join('\n');
}

function countBy(words: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
