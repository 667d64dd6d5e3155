import type { MachineRequestIntent } from '../../client/machine.js';
import type { ImageRef } from '../../model/machine/image.js';
import { parseDuration } from '../../schema/duration.js';
import { CliError } from '../cli-error.js';
import type { ServerOptions } from '../configuration.js';
import { createOutput } from '../output.js';
import { withSession } from '../session.js';
import { finishOperation } from './follow.js';

export interface MachineOptions extends ServerOptions {
  readonly wait: boolean;
}

/** Asks for an operation, and waits for its end. */
export async function operate(
  name: string,
  intent: MachineRequestIntent,
  options: MachineOptions,
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    const { operation } = await session.client.machines.operate(name, intent);
    return finishOperation(session, output, name, operation, options);
  });
}

export async function status(
  name: string,
  options: MachineOptions & { readonly image?: ImageRef },
): Promise<number> {
  const { image } = options;
  return operate(name, { kind: 'status', image }, options);
}

export async function load(
  name: string,
  image: ImageRef,
  options: MachineOptions & { readonly force?: boolean; readonly within?: string },
): Promise<number> {
  return operate(
    name,
    { kind: 'load', image, ...(options.force === true ? { force: true } : {}), ...limitOf(options) },
    options,
  );
}

export async function capture(
  name: string,
  image: ImageRef,
  options: MachineOptions & { readonly prove: boolean; readonly within?: string },
): Promise<number> {
  return operate(name, { kind: 'capture', image, prove: options.prove, ...limitOf(options) }, options);
}

/** Ends what a machine is doing, and waits for the end of it. */
export async function cancel(name: string, options: MachineOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    const { operation } = await session.client.machines.cancel(name);
    return finishOperation(session, output, name, operation, { ...options, cancelled: true });
  });
}

function limitOf({ within }: { readonly within?: string }): { readonly withinMs?: number } {
  if (within === undefined) return {};
  const withinMs = parseDuration(within);
  if (withinMs === undefined || withinMs < 1_000)
    throw new CliError('Usage', `--within ${within} is no duration of 1 s to 30 days, such as 45m`);
  return { withinMs };
}
