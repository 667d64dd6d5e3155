import { isSameOffers, offersOf, type ImageUpdate, type Offers } from '../../model/image/notification.js';
import { isOver } from '../../model/image/decide.js';
import { mostWatchers } from '../../model/image/room.js';
import type { ImageState, Published } from '../../model/image/state.js';
import { signalIfThere } from '../signal-if-there.js';
import { poolMessages } from '../messages.js';
import type { ImageMemory } from './memory.js';
import { conditionOf } from '../inbox.js';
import { change } from '../entity.js';

const nothingPublished: Published = { version: 0, offers: {}, watchers: {} };

/**
 * Subscribes a workflow to the versions that are offered. A repeated request is answered again, also while it
 * is being sent.
 */
export function addWatcher(memory: ImageMemory, workflowId: string): void {
  const { published = nothingPublished } = memory.state;
  const known = Object.keys(published.watchers);
  if (!known.includes(workflowId) && known.length >= mostWatchers) return;
  change(memory, {
    published: {
      ...published,
      watchers: { ...published.watchers, [workflowId]: Math.min(0, published.watchers[workflowId] ?? 0) - 1 },
    },
  });
}

/** Sends the offered versions to subscribers whenever they change; a running build does not delay this. */
export async function publishChanges(memory: ImageMemory): Promise<never> {
  for (;;) {
    await conditionOf('reports', () => !isPublished(memory.state));
    const update = noteUpdate(memory);
    const behind = Object.entries(memory.state.published?.watchers ?? {}).filter(
      ([, known]) => known < update.version,
    );
    await Promise.all(behind.map(([workflowId, known]) => publishTo(memory, { workflowId, known }, update)));
  }
}

/** All subscribers have the current versions. */
export function isPublished(state: ImageState): boolean {
  const { published = nothingPublished } = state;
  if (Object.keys(published.watchers).length === 0) return true;
  const current = currentOffers(state);
  return (
    isSameOffers(published.offers, current.offers) &&
    published.gone === current.gone &&
    Object.values(published.watchers).every((version) => version === published.version)
  );
}

function noteUpdate(memory: ImageMemory): ImageUpdate {
  const { state } = memory;
  const { published = nothingPublished } = state;
  const current = currentOffers(state);
  const isNew = !isSameOffers(published.offers, current.offers) || published.gone !== current.gone;
  const { gone: _gone, ...before } = published;
  const next: Published = isNew ? { ...before, ...current, version: published.version + 1 } : published;
  change(memory, { published: next });
  return { image: state.name, uid: state.uid, version: next.version, ...current };
}

function currentOffers(state: ImageState): { readonly offers: Offers; readonly gone?: true } {
  const offers = offersOf(state.name, state.builds);
  return isOver(state) ? { offers, gone: true } : { offers };
}

async function publishTo(
  memory: ImageMemory,
  { workflowId, known }: { readonly workflowId: string; readonly known: number },
  update: ImageUpdate,
): Promise<void> {
  const isThere = await signalIfThere(workflowId, poolMessages.signals.imageUpdate, update);
  const { published = nothingPublished } = memory.state;
  const { [workflowId]: now, ...others } = published.watchers;
  // It asked again meanwhile, and may be another one of that name.
  if (now !== known) return;
  change(memory, {
    published: { ...published, watchers: isThere ? { ...others, [workflowId]: update.version } : others },
  });
}
