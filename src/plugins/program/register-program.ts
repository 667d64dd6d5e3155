import type { FoundPlugin } from '../find-plugins.js';
import { knownAbilities, requiredMethods, wordsForMissing } from '../load-class.js';
import type { AutomatorContext, Loaded, ProviderContext, ProviderWithAbilities } from '../registered.js';
import type { Automator } from '../contract.js';
import type { Invocation } from './invoke.js';
import { loadProgram, type ProgramOptions } from './load-program.js';
import { ProgramAutomator } from './program-automator.js';
import { ProgramProvider } from './program-provider.js';
import type { Workshop } from './workshop.js';

export async function loadProviderProgram(
  found: FoundPlugin,
  workshop: Workshop,
  options: ProgramOptions,
): Promise<Loaded<ProviderContext, ProviderWithAbilities>> {
  const loaded = await loadVerified(found, workshop, options);
  if (!loaded.ok) return loaded;
  const { invocation, abilities } = loaded;
  const create = (context: ProviderContext): ProviderWithAbilities => {
    const provider = new ProgramProvider(invocation, context);
    return Object.assign(
      provider,
      Object.fromEntries(abilities.map((name) => [name, provider.ability(name)])),
    );
  };
  return { ...loaded, create };
}

export async function loadAutomatorProgram(
  found: FoundPlugin,
  workshop: Workshop,
  options: ProgramOptions,
): Promise<Loaded<AutomatorContext, Automator>> {
  const loaded = await loadVerified(found, workshop, options);
  return loaded.ok
    ? { ...loaded, create: (context) => new ProgramAutomator(loaded.invocation, context) }
    : loaded;
}

interface Verified extends Pick<
  Extract<Loaded<never, never>, { readonly ok: true }>,
  'ok' | 'abilities' | 'reserve' | 'close'
> {
  readonly invocation: Invocation;
}

async function loadVerified(
  found: FoundPlugin,
  workshop: Workshop,
  options: ProgramOptions,
): Promise<Verified | { readonly ok: false; readonly wrong: string }> {
  const { descriptor, entry, command } = found;
  const reading = await loadProgram(found, workshop, options);
  if (!reading.ok)
    return {
      ok: false,
      wrong: command === undefined ? `${entry} cannot be loaded: ${reading.wrong}` : reading.wrong,
    };
  const { invocation, methods } = reading;
  const { runner } = invocation;
  const missing =
    command === undefined ? requiredMethods[descriptor.type].filter((name) => !methods.includes(name)) : [];
  if (missing.length > 0) {
    await runner.close();
    return { ok: false, wrong: wordsForMissing(descriptor.class ?? '', entry, missing) };
  }
  const abilities = command === undefined ? knownAbilities.filter((name) => methods.includes(name)) : methods;
  return {
    ok: true,
    invocation,
    abilities,
    reserve: (signal) => runner.reserve(signal),
    close: () => runner.close(),
  };
}
