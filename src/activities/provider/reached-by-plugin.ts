import { readCurrentImage, readKnowledge } from '../../schema/machine-answer.js';
import type { CurrentReading, Knowledge, MachineInput } from '../../plugins/contract.js';
import type { ProviderWithAbilities, RegisteredProvider } from '../../plugins/registry.js';

/**
 * Whether what this provider has is reached by its plugin, in place of SSH. Every check whether a
 * resource answers, or what it has, decides by this.
 */
export function isReachedByPlugin({ abilities }: Pick<RegisteredProvider, 'abilities'>): boolean {
  return abilities.includes('reach');
}

export async function reachByPlugin(
  { descriptor: { name } }: Pick<RegisteredProvider, 'descriptor'>,
  provider: ProviderWithAbilities,
  machine: MachineInput,
): Promise<Knowledge> {
  return readKnowledge(await provider.reach?.(machine), { plugin: name, method: 'reach' });
}

export async function currentImageByPlugin(
  { descriptor: { name } }: Pick<RegisteredProvider, 'descriptor'>,
  provider: ProviderWithAbilities,
  machine: MachineInput,
): Promise<CurrentReading> {
  return readCurrentImage(await provider.currentImage?.(machine), { plugin: name, method: 'currentImage' });
}
