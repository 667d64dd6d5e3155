import { setTimeout as pause } from 'node:timers/promises';
import { anySignal } from '../../../model/signals.js';
import type { Outcome } from '../../contract.js';
import { digestOf } from './identity.js';
import type { Domain } from './machines.js';
import type { Virsh } from './virsh.js';
import type { Volumes } from './volumes.js';
import { elementsAt } from './xml.js';

export interface Copy {
  /** The domain whose metadata records the state of the copy. */
  readonly domain: Pick<Domain, 'uuid' | 'xml'>;
  readonly token: string;
  readonly target: string;
  readonly from: { readonly pool: string; readonly name: string; readonly capacity: number };
  readonly progress: (text: string) => void;
}

type Progress = 'begun' | 'done';

/** Names of the record in the domain's metadata. */
const metadataUri = 'https://heddle.dev/libvirt/copy/1';
const metadataKey = 'heddle-copy';

const pollMs = 2_000;

/**
 * Copies a volume into the pool as a whole image, once, and never over an existing one. libvirt removes a
 * failed copy and completes one whose caller died. A recorded copy whose end was not observed may be
 * incomplete, so it is removed and made again.
 */
export async function copyVolume(virsh: Virsh, volumes: Volumes, copy: Copy): Promise<Outcome> {
  const { domain, target, from, progress } = copy;
  const state = stateOfCopy(domain, copy);
  const existing = await volumes.find(target);
  if (state === 'done')
    return existing === undefined
      ? { answer: 'not done', why: `image ${target} was created and then deleted` }
      : { answer: 'done' };
  if (existing !== undefined && state === undefined) return refuseExisting(target);
  if (existing !== undefined) {
    await waitForCopy(volumes, copy, virsh.signal);
    // Sizes are rounded to whole sectors.
    if (existing.backing !== undefined || Math.abs(existing.capacity - from.capacity) >= 512)
      return refuseExisting(target);
    await volumes.delete(target);
  }
  if (state === undefined) await record(virsh, copy, 'begun');
  progress(`copies ${from.name} to ${target}`);
  const made = await copyWithProgress(volumes, copy, virsh.signal);
  if (made) {
    await record(virsh, copy, 'done');
    return { answer: 'done' };
  }
  // Another process made a volume of that name first; it must not be recorded as ours.
  await virsh.run(['metadata', domain.uuid, metadataUri, '--config', '--remove']);
  return refuseExisting(target);
}

/** Whether this copy, or any copy to the target, has begun or ended, by the domain's metadata. */
export function stateOfCopy(
  { xml }: Pick<Domain, 'xml'>,
  { token, target }: Partial<Pick<Copy, 'token'>> & Pick<Copy, 'target'>,
): Progress | undefined {
  const [found] = elementsAt(xml, 'metadata', `${metadataKey}:copy`);
  if (found?.attributes['target'] !== target) return undefined;
  if (token !== undefined && found.attributes['token'] !== digestOf(token)) return undefined;
  return found.attributes['state'] === 'done' ? 'done' : 'begun';
}

/** Waits until libvirt no longer writes the volume. */
async function waitForCopy(volumes: Volumes, copy: Copy, signal: AbortSignal): Promise<void> {
  while (await volumes.isBeingMade(copy.target)) {
    await reportSize(volumes, copy);
    await pause(pollMs, undefined, { signal });
  }
}

/** Names of volumes need no escaping in XML: `readImage` checks them. */
async function record(virsh: Virsh, { domain, token, target }: Copy, state: Progress): Promise<void> {
  await virsh.run([
    'metadata',
    domain.uuid,
    metadataUri,
    '--config',
    '--key',
    metadataKey,
    '--set',
    `<copy token='${digestOf(token)}' target='${target}' state='${state}'/>`,
  ]);
}

/** libvirt answers when the copy is complete; until then the volume's size is polled. */
async function copyWithProgress(volumes: Volumes, copy: Copy, signal: AbortSignal): Promise<boolean> {
  const ended = new AbortController();
  const polling = (async () => {
    for (;;) {
      await pause(pollMs, undefined, { signal: anySignal([signal, ended.signal]) });
      await reportSize(volumes, copy);
    }
  })().catch(() => undefined);
  try {
    return await volumes.copy(copy.target, copy.from);
  } finally {
    ended.abort();
    await polling;
  }
}

/** A volume that cannot be read while it is written is not an error. */
async function reportSize(
  volumes: Volumes,
  { target, progress }: Pick<Copy, 'target' | 'progress'>,
): Promise<void> {
  const volume = await volumes.find(target).catch(() => undefined);
  if (volume !== undefined) progress(`${Math.floor(volume.allocated / 2 ** 20)} MB of ${target} are written`);
}

export function refuseExisting(target: string): Outcome {
  return { answer: 'not done', why: `volume ${target} already exists and is not overwritten` };
}
