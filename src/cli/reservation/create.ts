import { ProblemsError } from '../../schema/problem.js';
import { readReservation, type WrittenReservation } from '../../schema/reservation/request.js';
import type { ServerOptions } from '../configuration.js';
import { verb } from '../verb.js';
import { printReservation } from './show.js';

interface CreateOptions extends ServerOptions {
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

export async function create(image: string, options: CreateOptions): Promise<number> {
  const {
    user,
    machine: machines,
    count,
    site,
    provider,
    system: type,
    can,
    from,
    to,
    for: length,
  } = options;
  const wanted = { image, user, machines, count, site, provider, type, can, from, to, for: length };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  const written = Object.fromEntries(given) as WrittenReservation;
  const reading = readReservation(written, Date.now());
  if (!reading.ok) throw new ProblemsError('This is no reservation:', reading.problems);
  return reserve(written, options);
}

const reserve = verb(
  ({ client }, written: WrittenReservation, _options: ServerOptions) => client.reservations.create(written),
  {
    worker: true,
    document: (reservation) => ({ reservation }),
    print: (output, reservation) => {
      printReservation(output, reservation);
      output.line(`next: heddle reservation ready ${reservation.id}`);
    },
  },
);
