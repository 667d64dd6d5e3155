import type { Labels } from '../../model/cluster/labels.js';
import { parseGroupCount } from '../../model/machine/selection.js';
import { ProblemsError } from '../../schema/problem.js';
import { readReservation, type WrittenReservation } from '../../schema/reservation/request.js';
import { printAccess, readPublicKeyFile } from '../access-text.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { verb } from '../verb.js';
import { printReservation } from './show.js';
import { serverTime } from '../../client/server-clock.js';

interface CreateOptions extends ServerOptions {
  readonly user: string;
  readonly machine?: readonly string[];
  readonly count?: number;
  readonly group?: string;
  readonly label?: Labels;
  readonly site?: string;
  readonly provider?: string;
  readonly system?: string;
  readonly can?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly for?: string;
}

export async function create(image: string, options: CreateOptions): Promise<number> {
  const { user, machine, label: labels, site, provider, system: type, can, from, to, for: length } = options;
  const counted = machine?.length === 1 ? parseGroupCount(machine[0] ?? '') : undefined;
  const { group = counted?.group, count = counted?.count } = options;
  const machines = counted === undefined ? machine : undefined;
  if (counted !== undefined && (group !== counted.group || count !== counted.count))
    throw new CliError('Usage', `--machine ${machine?.join(',')} already names a group and a number`);
  const wanted = {
    image,
    user,
    machines,
    count,
    group,
    labels,
    site,
    provider,
    type,
    can,
    from,
    to,
    for: length,
  };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  const written = Object.fromEntries(given) as WrittenReservation;
  return reserve(written, options);
}

const reserve = verb(
  async ({ client, temporal }, written: WrittenReservation, _options: ServerOptions) => {
    const now = await serverTime(temporal.connection, temporal.options.namespace);
    const reading = readReservation(written, now);
    if (!reading.ok) throw new ProblemsError('The reservation is not valid:', reading.problems);
    return client.reservations.create(written);
  },
  {
    worker: true,
    document: (reservation) => ({ reservation }),
    print: (output, reservation) => {
      printReservation(output, reservation);
      output.line(`next: heddle reservation ready ${reservation.id}`);
    },
  },
);

interface LogInOptions extends ServerOptions {
  /** File of a public key. */
  readonly key?: string;
}

/** Opens the machines to their user, and shows how to log in. */
export async function logIn(id: string, options: LogInOptions): Promise<number> {
  const { key } = options;
  return open(id, key === undefined ? undefined : readPublicKeyFile(key), options);
}

const open = verb(
  ({ client }, id: string, publicKey: string | undefined, _options: LogInOptions) =>
    client.reservations.logIn(id, { publicKey, everyMs: 500 }),
  {
    document: (opened, id) => ({
      reservation: { id },
      machines: opened.map(({ machine, access: { address, port, hostKey, login } }) => ({
        name: machine,
        address,
        port,
        hostKey,
        auth: login ?? {},
      })),
    }),
    print: (output, opened, _id, _publicKey, { key }) => {
      for (const { machine, access } of opened) printAccess(output, machine, access, key);
    },
  },
);
