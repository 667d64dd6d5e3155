import { setTimeout as pause } from 'node:timers/promises';
import type { Stack, WorkerProcess } from '../stack.js';

/** Workers that are started again whenever they are killed. */
export interface Crew {
  /** Those that polled a moment ago. */
  alive(): readonly WorkerProcess[];
  /** SIGKILL; another takes its place by itself. False when it is not there any more. */
  kill(pid: number): Promise<boolean>;
  /** SIGTERM to each in turn, the next when its successor polls, which is of another build where one is given. */
  roll(distPath?: string): Promise<void>;
  /** Everything that all of them, also the dead, have logged. */
  logs(): string;
  /** Nobody is started again; resolves when no start is under way. */
  dismiss(): Promise<void>;
}

export async function hireCrew(stack: Stack, size: number, distPath: string): Promise<Crew> {
  const names = Array.from({ length: size }, (_, index) => `worker-${index + 1}`);
  const workers = new Map<string, WorkerProcess>();
  const all: WorkerProcess[] = [];
  let hiring = true;
  const starts = new Set<Promise<void>>();
  const start = (name: string, build = distPath): Promise<void> => {
    const started = startUntilUp(name, build).finally(() => starts.delete(started));
    starts.add(started);
    return started;
  };
  const startUntilUp = async (name: string, build: string): Promise<void> => {
    while (hiring) {
      try {
        const worker = await stack.startWorker(name, build);
        workers.set(name, worker);
        all.push(worker);
        return;
      } catch {
        // The server is away: a supervisor would start it again, too.
        await pause(200);
      }
    }
  };
  await Promise.all(names.map((name) => start(name)));
  return {
    alive: () => [...workers.values()],
    async kill(pid) {
      const [name, worker] = [...workers].find(([, candidate]) => candidate.pid === pid) ?? [];
      if (name === undefined || worker === undefined) return false;
      workers.delete(name);
      await worker.kill();
      void start(name);
      return true;
    },
    async roll(build) {
      for (const name of names) {
        const worker = workers.get(name);
        workers.delete(name);
        await worker?.stop();
        await start(name, build);
      }
    },
    logs: () => all.map((worker) => worker.output()).join('\n'),
    async dismiss() {
      hiring = false;
      await Promise.all(starts);
    },
  };
}
