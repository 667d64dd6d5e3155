import { setTimeout as pause } from 'node:timers/promises';
import { anySignal } from '../../../model/signals.js';
import type { Outcome } from '../../contract.js';
import { digestOf } from './identity.js';
import type { Domain } from './machines.js';
import type { Virsh } from './virsh.js';
import type { Volumes } from './volumes.js';
import { elementsAt } from './xml.js';

export interface Copy {
  /** The machine that keeps the note of how far the copy is. */
  readonly domain: Domain;
  readonly token: string;
  readonly target: string;
  readonly from: { readonly pool: string; readonly name: string; readonly capacity: number };
  readonly progress: (text: string) => void;
}

type Progress = 'begun' | 'done';

/** Names the note in the domain's metadata. */
const noteUri = 'https://heddle.dev/libvirt/copy/1';
const noteKey = 'heddle-copy';

const lookEveryMs = 2_000;

/**
 * Copies a volume as a whole image into the pool; never over an existing one, and never again once done.
 * libvirt itself removes a failed copy and continues one whose caller died. If the end of a copy was not
 * observed, the note marks it as ours: it may be incomplete, so it is removed and made again.
 */
export async function copyVolume(virsh: Virsh, volumes: Volumes, copy: Copy): Promise<Outcome> {
  const { domain, target, from, progress } = copy;
  const note = noteOf(domain, copy);
  const there = await volumes.find(target);
  if (note === 'done')
    return there === undefined
      ? { answer: 'not done', why: `the image ${target} was made, and is gone again` }
      : { answer: 'done' };
  if (there !== undefined && note === undefined) return existsAlready(target);
  if (there !== undefined) {
    await untilItEnded(volumes, copy, virsh.signal);
    // Sizes are rounded to whole sectors.
    if (there.backing !== undefined || Math.abs(there.capacity - from.capacity) >= 512)
      return existsAlready(target);
    await volumes.delete(target);
  }
  if (note === undefined) await write(virsh, copy, 'begun');
  progress(`copies ${from.name} to ${target}`);
  const made = await whileTelling(volumes, copy, virsh.signal);
  if (made) {
    await write(virsh, copy, 'done');
    return { answer: 'done' };
  }
  // Another process was quicker; its copy must not be marked as ours.
  await virsh.run(['metadata', domain.uuid, noteUri, '--config', '--remove']);
  return existsAlready(target);
}

/** Whether this copy has begun or ended, by the domain's metadata. */
export function noteOf(
  { xml }: Domain,
  { token, target }: Pick<Copy, 'token' | 'target'>,
): Progress | undefined {
  const [found] = elementsAt(xml, 'metadata', `${noteKey}:copy`);
  if (found?.attributes['token'] !== digestOf(token) || found.attributes['target'] !== target)
    return undefined;
  return found.attributes['state'] === 'done' ? 'done' : 'begun';
}

/** Nothing is taken away under libvirt's hands. */
async function untilItEnded(volumes: Volumes, copy: Copy, signal: AbortSignal): Promise<void> {
  while (await volumes.isBeingMade(copy.target)) {
    await tell(volumes, copy);
    await pause(lookEveryMs, undefined, { signal });
  }
}

/** Names of volumes have nothing that XML knows. */
async function write(virsh: Virsh, { domain, token, target }: Copy, state: Progress): Promise<void> {
  await virsh.run([
    'metadata',
    domain.uuid,
    noteUri,
    '--config',
    '--key',
    noteKey,
    '--set',
    `<copy token='${digestOf(token)}' target='${target}' state='${state}'/>`,
  ]);
}

/** libvirt answers when all is written; meanwhile it is asked how much there is. */
async function whileTelling(volumes: Volumes, copy: Copy, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const telling = (async () => {
    for (;;) {
      await pause(lookEveryMs, undefined, { signal: anySignal([signal, over.signal]) });
      await tell(volumes, copy);
    }
  })().catch(() => undefined);
  try {
    return await volumes.copy(copy.target, copy.from);
  } finally {
    over.abort();
    await telling;
  }
}

/** What cannot be read in the middle of its making says nothing. */
async function tell(
  volumes: Volumes,
  { target, progress }: Pick<Copy, 'target' | 'progress'>,
): Promise<void> {
  const volume = await volumes.find(target).catch(() => undefined);
  if (volume !== undefined) progress(`${Math.floor(volume.allocated / 2 ** 20)} MB of ${target} are written`);
}

function existsAlready(target: string): Outcome {
  return { answer: 'not done', why: `there is a volume ${target} already, and nothing is written over it` };
}
