import pLimit from 'p-limit';
import { formatImageRef, isSameImage, type ImageRef } from '../../model/machine/image.js';
import { isFree } from '../../model/machine/selection.js';
import { milliseconds } from '../../model/milliseconds.js';
import type { MachineView } from '../../schema/output/machine.js';
import { unfitText } from '../../model/reservation/fit.js';
import type { FindCandidatesReply, FindCandidatesRequest } from '../../model/reservation/messages.js';
import { knownWebhooks } from '../../model/webhook.js';
import { maxAssignments, mostMachines } from '../../model/reservation/check.js';
import type { ReservationParts } from './parts.js';

/** Machines that are asked at once. */
const asked = 20;
/** So many cannot all be reserved: one that is free at the time is among the best ones. */
const mostNamed = maxAssignments + mostMachines;
/** Reasons that are worth reading. */
const mostReasons = 10;

/**
 * The activity FIND_CANDIDATES: registered machines that would do, best first, and why the others would not.
 * @throws Error if all must answer, and some do not.
 */
export async function findCandidates(
  { computers, settings: { reservations, webhooks } }: Pick<ReservationParts, 'computers' | 'settings'>,
  { wanted, image, than = [], all }: FindCandidatesRequest,
): Promise<FindCandidatesReply> {
  const names = (wanted.machines ?? (await computers.names())).filter((name) => !than.includes(name));
  const views = await pLimit(asked).map(names, async (name) => ({
    name,
    view: await viewOrReason(computers, name),
  }));
  const judged = views.map(({ name, view }) => ({
    name,
    view,
    why: typeof view === 'string' ? view : view instanceof Error ? undefined : unfitText(view, wanted),
  }));
  const fitting = judged.flatMap(({ view, why }) =>
    why === undefined && typeof view !== 'string' && !(view instanceof Error) ? [view] : [],
  );
  const without = await providersWithout(computers, fitting, image);
  const left = fitting
    .filter(({ provider }) => !without.has(provider))
    .toSorted((one, other) => rank(one, image) - rank(other, image));
  const others = [
    ...judged.flatMap(({ name, why }) => (why === undefined ? [] : [`${name}: ${why}`])),
    ...[...without].map((provider) => `provider ${provider} has no image ${formatImageRef(image)}`),
  ];
  const silent = views.flatMap(({ name, view }) =>
    view instanceof Error ? [`${name} (${view.message === '' ? view.name : view.message})`] : [],
  );
  // That a machine does not answer now says nothing of whether it fits.
  if (silent.length > 0 && all === true)
    throw new Error(
      `${silent.length} of ${names.length} machines do not answer, and one of them may be free: ${silent.slice(0, mostReasons).join(', ')}; check that workers run, and try again`,
    );
  return {
    computers: left.slice(0, mostNamed).map(({ name, uid, defaultImage }) => ({ name, uid, defaultImage })),
    others: others.slice(0, mostReasons),
    ...(silent.length === 0 ? {} : { incomplete: true }),
    settings: {
      prepareMs: milliseconds(reservations.prepare),
      remindMs: milliseconds(reservations.remind),
      longestMs: milliseconds(reservations.longest),
    },
    ...knownWebhooks(webhooks),
  };
}

/** The machine, the reason if it does not exist, or the error of a workflow that does not answer. */
async function viewOrReason(
  computers: ReservationParts['computers'],
  name: string,
): Promise<MachineView | string | Error> {
  try {
    return (
      (await computers.view(name)) ??
      `machine ${name} does not exist; run 'heddle machine list' to see the existing ones`
    );
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Provider accounts that certainly do not have the image; one machine of each is asked. */
async function providersWithout(
  computers: ReservationParts['computers'],
  views: readonly MachineView[],
  image: ImageRef,
): Promise<ReadonlySet<string>> {
  const first = [...new Map(views.toReversed().map((view) => [view.provider, view])).values()];
  const answers = await pLimit(asked).map(first, async ({ name, provider }) => ({
    provider,
    known: await computers.askImage(name, image).catch(() => ({ is: 'unknown' as const })),
  }));
  return new Set(answers.flatMap(({ provider, known }) => (known.is === 'no' ? [provider] : [])));
}

/** Those that have the image already, then those that do nothing. */
function rank(machine: MachineView, wanted: ImageRef): number {
  if (!isFree(machine)) return machine.state === 'failed' ? 3 : 2;
  return isSameImage(wanted, machine.image) ? 0 : 1;
}
