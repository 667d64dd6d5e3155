import { randomUUID } from 'node:crypto';
import type { Client, UpdateDefinition } from '@temporalio/client';
import { readPublicKey, type MachineAccess } from '../model/machine/access.js';
import { machineWorkflowId, reservationsWorkflowId, reservationsWorkflowType } from '../model/names.js';
import { machineMessages, reservationMessages } from '../workflows/messages.js';
import type { ReserveReply, ReservationsRequest } from '../model/reservation/contract.js';
import type { ReservationView } from '../schema/output/reservation.js';
import { formatProblem } from '../schema/problem.js';
import { parseMoment } from '../schema/reservation/moment.js';
import { readReservation, type WrittenReservation } from '../schema/reservation/request.js';
import type { ReservationsInput } from '../workflows/reservation/workflow.js';
import { call } from './call.js';
import { EntityClient, waitUntil, type WaitUntilOptions } from './entity-client.js';
import { HeddleError } from './errors.js';
import { serverTime } from './server-clock.js';
import { read } from './read.js';

export interface LogInOptions extends WaitUntilOptions<ReservationView> {
  /** The user's public key, as in a .pub file, in place of a password. */
  readonly publicKey?: string;
}

/** A machine that its user may log in to. */
export interface OpenedMachine {
  readonly machine: string;
  readonly access: MachineAccess;
}

/** Reservations of machines; one workflow holds all of them. */
export class ReservationClient extends EntityClient {
  constructor(temporal: Client, by: string) {
    super(
      temporal,
      {
        noun: 'reservation',
        workflowType: reservationsWorkflowType,
        workflowId: () => reservationsWorkflowId,
        listCommand: 'heddle reservation list --all',
      },
      by,
    );
  }

  /**
   * Reserves all requested machines, or none.
   * @throws HeddleError Invalid, or Refused with the reason.
   */
  async create(written: WrittenReservation): Promise<ReservationView> {
    const reading = readReservation(
      written,
      await serverTime(this.temporal.connection, this.temporal.options.namespace),
    );
    if (!reading.ok)
      throw new HeddleError(
        'Invalid',
        `this is not a valid reservation: ${reading.problems.map(formatProblem).join('; ')}`,
      );
    const input: ReservationsInput = { uid: randomUUID() };
    const request = { ...reading.request, by: this.by };
    const start = { args: [input], staticSummary: 'reservations of machines' };
    const reply = await this.updateWithStart(
      'reserve',
      '',
      reservationMessages.updates.reserve,
      request,
      start,
    );
    return reply.reservation;
  }

  /** @throws HeddleError Refused when it would overlap the next one, with the latest possible end. */
  async extend(id: string, to: string | number): Promise<ReservationView> {
    const at = typeof to === 'number' ? to : parseMoment(to);
    if (at === undefined)
      throw new HeddleError('Invalid', `"${to}" is not a valid time, such as 2026-07-01T09:00:00Z`);
    return this.#change('extend', reservationMessages.updates.extend, { id, to: at, by: this.by });
  }

  /** Cancels a reservation that is not ready yet. */
  cancel(id: string): Promise<ReservationView> {
    return this.#change('cancel', reservationMessages.updates.cancel, { id, by: this.by });
  }

  /** Ends a reservation that has begun, also while its machines are being prepared. */
  return(id: string): Promise<ReservationView> {
    return this.#change('return', reservationMessages.updates.return, { id, by: this.by });
  }

  /**
   * Opens the machines of a ready reservation to its user and returns how to log in; from then on they count
   * as used. Each machine has an account for the user, with a password or `publicKey`. Idempotent.
   * @throws HeddleError Refused before the reservation is ready, Failed when a machine cannot be opened.
   */
  async logIn(
    id: string,
    { publicKey: line, ...options }: LogInOptions = {},
  ): Promise<readonly OpenedMachine[]> {
    const publicKey = line === undefined ? undefined : readPublicKey(line);
    if (line !== undefined && publicKey === undefined)
      throw new HeddleError(
        'Invalid',
        'this is not an OpenSSH public key, which is one line with type and key, as in a .pub file',
      );
    await this.#change('log-in', reservationMessages.updates.logIn, { id, by: this.by, publicKey });
    const { machines } = await this.waitUntil(id, (view) => isOpen(view), options);
    return Promise.all(
      machines.map(async ({ name }) => ({ machine: name, access: await this.#access(id, name) })),
    );
  }

  async #access(id: string, machine: string): Promise<MachineAccess> {
    const handle = this.temporal.workflow.getHandle(machineWorkflowId(machine));
    const access = await call(this.temporal, `log-in ${machine}`, () =>
      read(handle, machineMessages.queries.access, { reservation: id }),
    );
    if (access !== null) return access;
    throw new HeddleError('Refused', `machine ${machine} is no longer open to the user of ${id}`);
  }

  async show(id: string): Promise<ReservationView> {
    const view = await this.query('show', 'reservation', reservationMessages.queries.reservation, id).catch(
      noneYet,
    );
    if (view !== undefined && view !== null) return view;
    const list = 'heddle reservation list --all';
    throw new HeddleError(
      'NotFound',
      `reservation ${id} does not exist; run '${list}' to see the existing ones`,
      { next: list },
    );
  }

  /** Oldest first; open ones unless `all`. */
  async list(request: Omit<ReservationsRequest, 'after'> = {}): Promise<readonly ReservationView[]> {
    const found: ReservationView[] = [];
    for (let after: string | undefined; ;) {
      const page = await this.query('list', 'reservation', reservationMessages.queries.reservations, {
        ...request,
        after,
      }).catch(noneYet);
      found.push(...(page?.reservations ?? []));
      if (page?.next === undefined) return found;
      after = page.next;
    }
  }

  /** Waits until a reservation satisfies a condition, through restarts of workers and server. */
  waitUntil(
    id: string,
    condition: (view: ReservationView) => boolean,
    options?: WaitUntilOptions<ReservationView>,
  ): Promise<ReservationView> {
    return waitUntil(
      () => this.show(id),
      (view) => (condition(view) ? view : undefined),
      options,
    );
  }

  async #change<Request>(
    what: string,
    definition: UpdateDefinition<ReserveReply, [Request]>,
    request: Request,
  ): Promise<ReservationView> {
    return (await this.update(what, 'reservation', definition, request)).reservation;
  }

  /** The workflow starts with the first reservation. */
  protected override notFound(_name: string, cause?: HeddleError): HeddleError {
    return new HeddleError('NotFound', "no reservations; run 'heddle reservation create' to create one", {
      cause,
      next: 'heddle reservation create --help',
    });
  }
}

function noneYet(error: unknown): undefined {
  if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
  throw error;
}

/** Whether all machines are open to the user. @throws HeddleError when they will not be. */
function isOpen({ id, state, why, machines }: ReservationView): boolean {
  if (state !== 'ready' && state !== 'in use')
    throw new HeddleError('Refused', `reservation ${id} is ${state}${why === undefined ? '' : `: ${why}`}`);
  const stuck = machines.find(
    (machine) => machine.stage !== 'in use' && machine.doing === undefined && machine.why !== undefined,
  );
  if (stuck !== undefined)
    throw new HeddleError('Failed', `machine ${stuck.name} could not be opened: ${stuck.why}`);
  return machines.length > 0 && machines.every(({ stage }) => stage === 'in use');
}
