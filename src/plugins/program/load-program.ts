import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { childEnvironment } from '../../config/child-environment.js';
import type { Descriptor } from '../../schema/descriptor.js';
import type { PluginLimits } from '../../schema/descriptor-program.js';
import { clientPlan } from '../clients.js';
import { ProgramFault } from '../errors.js';
import type { FoundPlugin } from '../find-plugins.js';
import { HostPool } from './host-pool.js';
import type { Invocation } from './invoke.js';
import { OneShotRunner } from './runner.js';
import type { Workshop } from './workshop.js';

export interface ProgramOptions {
  /** The worker's environment: of it PATH, LANG and what descriptors name is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What plugins may use, by their names; goes over what they say themselves. */
  readonly limits: Readonly<Record<string, PluginLimits>>;
  /** Hears what went wrong outside of any call, such as a client that could not be stopped. */
  readonly say?: (text: string) => void;
}

export type ProgramReading =
  | { readonly ok: true; readonly invocation: Invocation; readonly methods: readonly string[] }
  | { readonly ok: false; readonly wrong: string };

const defaults = { memoryMb: 512, processes: 32, calls: 200 } as const;

/**
 * Makes ready what carries out a plugin that is not built in. A class is loaded once, so that its faults show
 * now.
 */
export async function loadProgram(
  found: FoundPlugin,
  workshop: Workshop,
  options: ProgramOptions,
): Promise<ProgramReading> {
  const { descriptor, command, folder, entry } = found;
  const limits = {
    ...defaults,
    ...defined(descriptor.limits),
    ...defined(options.limits[descriptor.name] ?? {}),
  };
  const environment = environmentOf(descriptor, options);
  const shared = { cwd: folder, environment, memoryBytes: limits.memoryMb * 1024 * 1024 };
  const time = limits.timeMs === undefined ? {} : { timeMs: limits.timeMs };
  if (command !== undefined) {
    const [program = ''] = command;
    const path = environment['PATH'] ?? '';
    if (!isAbsolute(program) && !path.split(delimiter).some((place) => existsSync(join(place, program)))) {
      return { ok: false, wrong: `there is no program ${program} on PATH (${path})` };
    }
    return {
      ok: true,
      invocation: {
        descriptor,
        hosted: false,
        runner: new OneShotRunner(workshop, { ...shared, command }, limits.processes),
        ...time,
      },
      methods: descriptor.abilities,
    };
  }
  const pool = new HostPool(workshop, {
    ...shared,
    load: { entry, class: descriptor.class ?? '', clients: clientPlan(descriptor) },
    say: options.say ?? (() => undefined),
    processes: limits.processes,
    calls: limits.calls,
  });
  try {
    return {
      ok: true,
      methods: await pool.load(),
      invocation: { descriptor, hosted: true, runner: pool, ...time },
    };
  } catch (error) {
    if (error instanceof ProgramFault) return { ok: false, wrong: error.message };
    throw error;
  }
}

/** Never the whole environment: it holds the worker's secrets. */
function environmentOf(
  { environment, passEnvironment }: Descriptor,
  { environment: own }: ProgramOptions,
): Readonly<Record<string, string>> {
  const from = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', ...own };
  return childEnvironment({ from, pass: passEnvironment, set: environment });
}

function defined(limits: PluginLimits): { readonly [Key in keyof PluginLimits]?: number } {
  return Object.fromEntries(
    Object.entries(limits).filter(([, value]: [string, unknown]) => value !== undefined),
  );
}
