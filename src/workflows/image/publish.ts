import { condition } from '@temporalio/workflow';
import { isSameOffers, offersOf, type ImageNews, type Offers } from '../../model/image/notification.js';
import { isOver } from '../../model/image/decide.js';
import type { ImageState, Told } from '../../model/image/state.js';
import { signalIfThere } from '../signal-if-there.js';
import { imageNewsSignal } from './messages.js';
import { change, type ImageMemory } from './memory.js';

const nothingTold: Told = { version: 0, offers: {}, watchers: {} };

/**
 * Subscribes a workflow to the versions that are offered. A repeated request is answered again, also while it
 * is being told.
 */
export function addWatcher(memory: ImageMemory, workflowId: string): void {
  const { told = nothingTold } = memory.state;
  change(memory, {
    told: {
      ...told,
      watchers: { ...told.watchers, [workflowId]: Math.min(0, told.watchers[workflowId] ?? 0) - 1 },
    },
  });
}

/**
 * Tells those who watch what is offered, whenever that is something else than before; a build under way does
 * not delay it.
 */
export async function keepTelling(memory: ImageMemory): Promise<never> {
  for (;;) {
    await condition(() => !isAllTold(memory.state));
    const news = noteNews(memory);
    const behind = Object.entries(memory.state.told?.watchers ?? {}).filter(
      ([, known]) => known < news.version,
    );
    await Promise.all(behind.map(([workflowId, known]) => tell(memory, { workflowId, known }, news)));
  }
}

/** All subscribers have the current versions. */
export function isAllTold(state: ImageState): boolean {
  const { told = nothingTold } = state;
  if (Object.keys(told.watchers).length === 0) return true;
  const current = currentOffers(state);
  return (
    isSameOffers(told.offers, current.offers) &&
    told.gone === current.gone &&
    Object.values(told.watchers).every((version) => version === told.version)
  );
}

function noteNews(memory: ImageMemory): ImageNews {
  const { state } = memory;
  const { told = nothingTold } = state;
  const current = currentOffers(state);
  const isNew = !isSameOffers(told.offers, current.offers) || told.gone !== current.gone;
  const { gone: _gone, ...before } = told;
  const next: Told = isNew ? { ...before, ...current, version: told.version + 1 } : told;
  change(memory, { told: next });
  return { image: state.name, uid: state.uid, version: next.version, ...current };
}

function currentOffers(state: ImageState): { readonly offers: Offers; readonly gone?: true } {
  const offers = offersOf(state.name, state.builds);
  return isOver(state) ? { offers, gone: true } : { offers };
}

async function tell(
  memory: ImageMemory,
  { workflowId, known }: { readonly workflowId: string; readonly known: number },
  news: ImageNews,
): Promise<void> {
  const isThere = await signalIfThere(workflowId, imageNewsSignal, news);
  const { told = nothingTold } = memory.state;
  const { [workflowId]: now, ...others } = told.watchers;
  // It asked again meanwhile, and may be another one of that name.
  if (now !== known) return;
  change(memory, {
    told: { ...told, watchers: isThere ? { ...others, [workflowId]: news.version } : others },
  });
}
