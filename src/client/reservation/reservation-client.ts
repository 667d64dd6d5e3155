import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { WithStartWorkflowOperation, type Client, type WorkflowHandle } from '@temporalio/client';
import { readPublicKey, type MachineAccess } from '../../model/machine/access.js';
import {
  coreQueue,
  machineWorkflowId,
  reservationsWorkflowId,
  reservationsWorkflowType,
} from '../../model/names.js';
import type { ReserveReply } from '../../model/reservation/messages.js';
import type { ReservationView } from '../../model/reservation/view.js';
import { formatProblem } from '../../schema/problem.js';
import { parseMoment } from '../../schema/reservation/moment.js';
import { readReservation, type WrittenReservation } from '../../schema/reservation/request.js';
import { accessQuery } from '../../workflows/machine/messages.js';
import {
  cancelReservationUpdate,
  enterUpdate,
  extendUpdate,
  reservationQuery,
  reservationsQuery,
  reserveUpdate,
  returnUpdate,
  type ReservationsRequest,
} from '../../workflows/reservation/messages.js';
import type { ReservationsInput } from '../../workflows/reservation/workflow.js';
import { call } from '../call.js';
import { HeddleError } from '../errors.js';

export interface ReservationWaitOptions {
  /** Between looks, in ms; 500 unless given. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
  readonly onView?: (view: ReservationView) => void;
  /** Longest silence of server and workers that is waited out, in ms; 5 minutes unless given. */
  readonly patienceMs?: number;
}

export interface LogInOptions extends ReservationWaitOptions {
  /** The user's own, as in a .pub file, in place of a password. */
  readonly publicKey?: string;
}

/** A machine that its user may log in to. */
export interface OpenedMachine {
  readonly machine: string;
  readonly access: MachineAccess;
}

const notAPublicKey = 'this is no public key of OpenSSH: one line with type and key, as in a .pub file';

/** Looking for machines asks every one of them. */
const reserveMs = 60_000;

/** Reservations of machines. */
export class ReservationClient {
  readonly #temporal: Client;
  readonly #by: string;

  constructor(temporal: Client, by: string) {
    this.#temporal = temporal;
    this.#by = by;
  }

  /**
   * Reserves machines, all that are wanted or none.
   * @throws HeddleError Invalid, Refused with what is in the way.
   */
  async create(written: WrittenReservation): Promise<ReservationView> {
    const reading = readReservation(written, Date.now());
    if (!reading.ok)
      throw new HeddleError(
        'Invalid',
        `this is no reservation: ${reading.problems.map(formatProblem).join('; ')}`,
      );
    const startWorkflowOperation = new WithStartWorkflowOperation<
      (input: ReservationsInput) => Promise<string>
    >(reservationsWorkflowType, {
      workflowId: reservationsWorkflowId,
      taskQueue: coreQueue,
      args: [{ uid: randomUUID() }],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: 'reservations of machines',
    });
    const { reservation } = await call(
      this.#temporal,
      'reserve',
      () =>
        this.#temporal.workflow.executeUpdateWithStart(reserveUpdate, {
          args: [{ ...reading.request, by: this.#by }],
          startWorkflowOperation,
        }),
      reserveMs,
    );
    return reservation;
  }

  /** @throws HeddleError Refused when it would overlap the next one, saying until when it can last. */
  async extend(id: string, to: string | number): Promise<ReservationView> {
    const at = typeof to === 'number' ? to : parseMoment(to);
    if (at === undefined)
      throw new HeddleError('Invalid', `"${to}" is no moment such as 2026-07-01T09:00:00Z`);
    return this.#update('extend', (handle) =>
      handle.executeUpdate(extendUpdate, { args: [{ id, to: at, by: this.#by }] }),
    );
  }

  /** Ends one that has not begun. */
  async cancel(id: string): Promise<ReservationView> {
    return this.#update('cancel', (handle) =>
      handle.executeUpdate(cancelReservationUpdate, { args: [{ id, by: this.#by }] }),
    );
  }

  /** Ends one before its time is over. */
  async return(id: string): Promise<ReservationView> {
    return this.#update('return', (handle) =>
      handle.executeUpdate(returnUpdate, { args: [{ id, by: this.#by }] }),
    );
  }

  /**
   * Opens the machines of a reservation that is ready to its user, and gives all that is needed to log in.
   * From then on they count as used. Each machine has an account for the user, with a password or
   * `publicKey`; asked again, it is the same.
   * @throws HeddleError Refused before it is ready, Failed when one of them cannot be opened.
   */
  async logIn(
    id: string,
    { publicKey: line, ...options }: LogInOptions = {},
  ): Promise<readonly OpenedMachine[]> {
    const publicKey = line === undefined ? undefined : readPublicKey(line);
    if (line !== undefined && publicKey === undefined) throw new HeddleError('Invalid', notAPublicKey);
    const request = { id, by: this.#by, publicKey };
    await this.#update('log-in', (handle) => handle.executeUpdate(enterUpdate, { args: [request] }));
    const { machines } = await this.waitUntil(
      id,
      ({ state, why, machines: seats }) => {
        if (state !== 'ready' && state !== 'in use')
          throw new HeddleError(
            'Refused',
            `reservation ${id} is ${state}${why === undefined ? '' : `: ${why}`}`,
          );
        const stuck = seats.find(
          (seat) => seat.stage !== 'in use' && seat.doing === undefined && seat.why !== undefined,
        );
        if (stuck !== undefined)
          throw new HeddleError('Failed', `machine ${stuck.name} could not be opened: ${stuck.why}`);
        return seats.length > 0 && seats.every(({ stage }) => stage === 'in use');
      },
      options,
    );
    return Promise.all(
      machines.map(async ({ name }) => ({ machine: name, access: await this.#access(id, name) })),
    );
  }

  async #access(id: string, machine: string): Promise<MachineAccess> {
    const handle = this.#temporal.workflow.getHandle(machineWorkflowId(machine));
    const ask = () => handle.query(accessQuery, { reservation: id });
    const access = await call(this.#temporal, `log-in ${machine}`, ask);
    if (access !== null) return access;
    throw new HeddleError('Refused', `machine ${machine} is not open to the user of ${id} any more`);
  }

  async show(id: string): Promise<ReservationView> {
    const view = await this.#ask('show', (handle) => handle.query(reservationQuery, id));
    if (view === undefined || view === null)
      throw new HeddleError(
        'NotFound',
        `there is no reservation ${id}; 'heddle reservation list --all' shows those that are remembered`,
        { next: 'heddle reservation list --all' },
      );
    return view;
  }

  /** Oldest first; open ones unless `all`. */
  async list(request: Omit<ReservationsRequest, 'after'> = {}): Promise<readonly ReservationView[]> {
    const found: ReservationView[] = [];
    for (let after: string | undefined; ;) {
      const page = await this.#ask('list', (handle) =>
        handle.query(reservationsQuery, { ...request, ...(after === undefined ? {} : { after }) }),
      );
      found.push(...(page?.reservations ?? []));
      if (page?.next === undefined) return found;
      after = page.next;
    }
  }

  /** Waits until a reservation is as it should be, through restarts of workers and server. */
  async waitUntil(
    id: string,
    isSo: (view: ReservationView) => boolean,
    { everyMs = 500, signal, onView, patienceMs = 5 * 60_000 }: ReservationWaitOptions = {},
  ): Promise<ReservationView> {
    for (
      let answeredAt = Date.now();
      ;
      await pause(everyMs, undefined, signal === undefined ? {} : { signal })
    ) {
      let view: ReservationView;
      try {
        view = await this.show(id);
      } catch (error) {
        const passing =
          error instanceof HeddleError && (error.code === 'NoWorker' || error.code === 'NoServer');
        if (!passing || Date.now() - answeredAt > patienceMs) throw error;
        continue;
      }
      answeredAt = Date.now();
      onView?.(view);
      if (isSo(view)) return view;
    }
  }

  async #update(
    what: string,
    ask: (handle: WorkflowHandle) => Promise<ReserveReply>,
  ): Promise<ReservationView> {
    const reply = await this.#ask(what, ask);
    if (reply === undefined)
      throw new HeddleError('NotFound', "there are no reservations; 'heddle reservation create' makes one", {
        next: 'heddle reservation create --help',
      });
    return reply.reservation;
  }

  /** Undefined where nobody ever reserved anything. */
  async #ask<Result>(
    what: string,
    ask: (handle: WorkflowHandle) => Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      return await call(this.#temporal, `${what} reservation`, () =>
        ask(this.#temporal.workflow.getHandle(reservationsWorkflowId)),
      );
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
      throw error;
    }
  }
}
