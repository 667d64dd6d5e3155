import { ProblemsError } from '../../schema/problem.js';
import { readReservation, type WrittenReservation } from '../../schema/reservation/request.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { requireWorker, withSession } from '../session.js';
import { printReservation } from './text.js';

export interface CreateOptions extends ServerOptions {
  readonly user: string;
  readonly machine?: readonly string[];
  readonly count?: number;
  readonly site?: string;
  readonly provider?: string;
  readonly system?: string;
  readonly can?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly for?: string;
}

/** Reserves machines. */
export async function create(image: string, options: CreateOptions): Promise<number> {
  const { user, machine, count, site, provider, system, can, from, to, for: length } = options;
  const wanted = { machines: machine, count, site, provider, type: system, can, from, to, for: length };
  const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)) as Omit<
    WrittenReservation,
    'image' | 'user'
  >;
  const written: WrittenReservation = { image, user, ...given };
  const reading = readReservation(written, Date.now());
  if (!reading.ok) throw new ProblemsError('This is no reservation:', reading.problems);
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const view = await session.client.reservations.create(written);
    printReservation(output, view, Date.now());
    output.line(`next: heddle reservation ready ${view.id}`);
    output.document({ reservation: view });
    return exitCodes.ok;
  });
}
