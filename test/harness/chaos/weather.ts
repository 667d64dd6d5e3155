import { setTimeout as pause } from 'node:timers/promises';
import type { MachineService } from '../stack.js';
import { lagCloud } from './lag-cloud.js';
import type { Random } from './random.js';

/** Faults that wait for a call at a time: where calls are few, more would pile up until none came through. */
const mostArmed = 3;

/** Keeps scripting faults at the machine service until it is told to stop; gives how many of each. */
export function startWeather(
  service: MachineService,
  random: Random,
): { stop(): Promise<Readonly<Record<string, number>>> } {
  const counts: Record<string, number> = {};
  let blowing = true;
  const operation = (): string => random.pick(['create', 'describe', 'list', 'delete']);
  const faults: readonly (() => object)[] = [
    () => ({ fault: 'lose-answer', operation: operation() }),
    () => ({ fault: 'http', status: random.pick([500, 503]), count: random.whole(1, 3) }),
    () => ({ fault: 'http', status: 429, retryAfterSeconds: 1 }),
    () => ({ fault: 'latency', ms: random.whole(200, 1_200), count: random.whole(1, 4) }),
    () => ({ fault: 'list-lag', ms: lagCloud.lagMs, hostname: 'patient-*', count: 2 }),
    () => ({ fault: 'no-capacity', hostname: '*-web-*' }),
  ];
  const blow = async (): Promise<void> => {
    while (blowing) {
      await pause(random.between(300, 1_200));
      if ((await armed(service)) >= mostArmed) continue;
      const fault = random.pick(faults)();
      await service.arm(fault);
      const { fault: name, status } = fault as { readonly fault: string; readonly status?: number };
      const title = status === undefined ? name : `${name} ${status}`;
      counts[title] = (counts[title] ?? 0) + 1;
    }
    await service.call('DELETE', '/v1/faults');
  };
  const blown = blow();
  return {
    stop: async () => {
      blowing = false;
      await blown;
      return counts;
    },
  };
}

/** How many faults have not met all their calls. */
async function armed(service: MachineService): Promise<number> {
  const { faults } = (await service.call('GET', '/v1/faults')) as {
    readonly faults: readonly { readonly count: number; readonly met: number }[];
  };
  return faults.filter(({ count, met }) => count === 0 || met < count).length;
}
