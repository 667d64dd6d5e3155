import type { FindCandidatesReply, FindCandidatesRequest } from '../../model/reservation/messages.js';
import { schedule } from '../schedule.js';

/** Why there are not enough machines, in words. */
export interface Lacking {
  readonly lacking: string;
}

/**
 * Finds machines for a reservation and takes them. Machines that do not answer are passed over as long as
 * there are others; one of them may be the free one, so all must have answered before there are too few.
 * @param take Chooses and records in one step: a search takes time, in which others take machines.
 * @throws ActivityFailure if the machines could not be listed, or there are too few and some do not answer.
 */
export async function takeMachines<Taken extends object>(
  request: Omit<FindCandidatesRequest, 'all'>,
  take: (found: FindCandidatesReply) => Taken | Lacking,
): Promise<Taken | Lacking> {
  const found = await schedule('FIND_CANDIDATES', request);
  const taken = take(found);
  return 'lacking' in taken && found.incomplete === true
    ? take(await schedule('FIND_CANDIDATES', { ...request, all: true }))
    : taken;
}
