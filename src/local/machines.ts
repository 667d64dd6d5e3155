import { randomBytes } from 'node:crypto';
import type { Addresses } from './addresses.js';
import { ApiError } from './errors.js';
import type { CallSubject, Faults } from './faults.js';
import { newHostKey } from './host-key.js';
import type { Inventory } from './inventory.js';
import type { Journal, Operation } from './journal.js';
import type { Kind } from './kinds/kind.js';
import type { Library } from './image/library.js';
import { detailsOf, summaryOf, type MachineRecord } from './machine.js';
import type { Power } from './power.js';
import type { Quota } from './quota.js';
import { digestOf, type CreateRequest, type ListRequest } from './http/requests.js';

export interface MachinesParts {
  readonly inventory: Inventory;
  readonly journal: Journal;
  readonly quota: Quota;
  readonly addresses: Addresses;
  readonly faults: Faults;
  readonly power: Power;
  /** What new machines are made of. */
  readonly kind: Kind;
  readonly library: Library;
  /** Most machines in one answer. */
  readonly pageSize: number;
}

/** The calls of the API. Each one decides, writes and journals synchronously, so calls cannot interleave. */
export class Machines {
  readonly #parts: MachinesParts;
  /** Every machine ever made: id by token, and all ids. One that is missing from the inventory is deleted. */
  readonly #made = new Map<string, string>();
  readonly #ids = new Set<string>();

  constructor(parts: MachinesParts) {
    this.#parts = parts;
    for (const { token, id } of parts.journal.read({
      after: 0,
      limit: Number.POSITIVE_INFINITY,
      operations: ['create'],
    })) {
      if (token !== undefined && id !== undefined) this.#remember(token, id);
    }
  }

  create(request: CreateRequest): { readonly status: 200 | 201; readonly body: object } {
    const { inventory, power } = this.#parts;
    const made = this.#made.get(request.token);
    if (made !== undefined && inventory.get(made) === undefined)
      return { status: 200, body: { id: made, state: 'gone', repeated: true } };
    const known = inventory.withToken(request.token);
    if (known !== undefined) return { status: 200, body: this.#repeat(known, request) };
    const machine = this.#make(request);
    inventory.add(machine);
    // After the record: a call that is in the journal has its machine on disk.
    this.#note('create', machine);
    this.#remember(machine.token, machine.id);
    power.turnOn(machine.id);
    return {
      status: 201,
      body: { id: machine.id, state: machine.state, user: machine.user, repeated: false },
    };
  }

  describe(id: string): object {
    if (this.#ids.has(id) && this.#parts.inventory.get(id) === undefined)
      throw new ApiError('Gone', `Machine ${id} was deleted.`);
    const machine = this.#existing(id);
    if (!isVisible(machine)) throw new ApiError('NotFound', `Machine ${id} does not exist.`);
    this.#note('describe', machine);
    return detailsOf(machine);
  }

  /** A page of the machines that carry all given tags, oldest first. */
  list(request: ListRequest): object {
    const wanted = request.tag.map(
      (pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const,
    );
    const found = this.#parts.inventory
      .all()
      .filter(
        (machine) => isVisible(machine) && wanted.every(([name, value]) => machine.tags[name] === value),
      )
      .filter((machine) => request.key === undefined || machine.key === request.key)
      .filter((machine) => request.state === undefined || machine.state === request.state)
      .map((machine) => ({ machine, place: `${machine.createdAt}_${machine.id}` }))
      .filter(({ place }) => request.page === undefined || place > request.page)
      .toSorted((one, other) => (one.place < other.place ? -1 : 1));
    this.#parts.journal.append({ operation: 'list', tags: Object.fromEntries(wanted), key: request.key });
    const page = found.slice(0, Math.min(request.limit, this.#parts.pageSize));
    const last = page.at(-1);
    return {
      machines: page.map(({ machine }) => summaryOf(machine)),
      ...(last !== undefined && found.length > page.length ? { next: last.place } : {}),
    };
  }

  /** Accepts the deletion; the machine stops now and disappears a little later. */
  remove(id: string): object {
    const machine = this.#existing(id);
    const repeated = machine.state === 'deleting';
    this.#note('delete', machine, repeated ? { repeated } : {});
    if (!repeated) this.#parts.power.destroy(id);
    return { id, state: 'deleting' };
  }

  switchPower(id: string, power: 'on' | 'off'): object {
    const machine = this.#changeable(id);
    if (power === 'on' && machine.job?.state === 'running')
      throw new ApiError(
        'Conflict',
        `Machine ${id} is busy with ${machine.job.kind} of ${machine.job.image}.`,
      );
    this.#note(power === 'on' ? 'power-on' : 'power-off', machine);
    if (power === 'off' && machine.state !== 'stopped') this.#parts.power.turnOff(id, 'stopped');
    if (power === 'on' && (machine.state === 'stopped' || machine.state === 'failed')) {
      this.#parts.inventory.update(id, { state: 'pending' });
      this.#parts.power.turnOn(id);
    }
    return { id, state: this.#existing(id).state };
  }

  /** What a machine printed; without `text` if its kind has no console. */
  console(id: string): object {
    const machine = this.#existing(id);
    this.#note('describe', machine);
    return { id, text: this.#parts.power.console(machine) };
  }

  /** The machine dies, as hardware does. */
  kill(id: string): object {
    const machine = this.#changeable(id);
    this.#note('kill', machine);
    this.#parts.power.turnOff(id, 'failed', 'it was killed through the API');
    return { id, state: 'failed' };
  }

  /** Checks the key of a call that names an id from elsewhere. @throws ApiError KeyMismatch */
  requireKey(id: string, key: string | undefined): void {
    const machine = this.#parts.inventory.get(id);
    if (key === undefined || machine === undefined || machine.key === key) return;
    throw new ApiError('KeyMismatch', `Machine ${id} was made with another key than ${key}.`);
  }

  /** What fault filters compare of a call about this machine. */
  subjectOf(operation: CallSubject['operation'], id: string): CallSubject {
    const machine = this.#parts.inventory.get(id);
    return { operation, hostname: machine?.hostname, tags: machine?.tags };
  }

  flavorsInUse(): readonly string[] {
    return this.#parts.inventory.all().map((machine) => machine.flavor);
  }

  #repeat(known: MachineRecord, request: CreateRequest): object {
    if (known.requestDigest !== digestOf(request)) {
      throw new ApiError(
        'IdempotencyMismatch',
        `This token made machine ${known.id} with other parameters. Ask with those, or with a new token.`,
      );
    }
    this.#note('create', known, { repeated: true });
    return { id: known.id, state: known.state, user: known.user, repeated: true };
  }

  #make(request: CreateRequest): MachineRecord {
    const { faults, quota, kind, addresses, inventory, library } = this.#parts;
    if (!library.isKnown(request.image))
      throw new ApiError(
        'BadRequest',
        `The request is wrong: image: must be one of ${library.names().join(', ')}.`,
      );
    const call = { operation: 'create', hostname: request.hostname, tags: request.tags } as const;
    if (faults.meet('no-capacity', call))
      throw new ApiError(
        'InsufficientCapacity',
        'No capacity for a machine of this flavor. Try again later, or use another flavor.',
      );
    quota.admit(this.flavorsInUse(), request.flavor);
    const endpoint = addresses.take(new Set(inventory.all().map((machine) => machine.address)));
    if (endpoint === undefined)
      throw new ApiError('InsufficientCapacity', 'All addresses are in use. Delete machines.');
    const lag = faults.meet('list-lag', call)?.ms;
    const diesAfterMs = faults.meet('dies', call)?.ms;
    return {
      ...request,
      ...endpoint,
      id: `m-${randomBytes(8).toString('hex')}`,
      requestDigest: digestOf(request),
      kind: kind.name,
      state: 'pending',
      user: kind.user,
      password: randomBytes(18).toString('base64url'),
      hostKey: newHostKey(),
      createdAt: new Date().toISOString(),
      ...(lag === undefined ? {} : { visibleAt: Date.now() + lag }),
      faults: {
        ...(faults.meet('never-boots', call) ? { neverBoots: true } : {}),
        ...(faults.meet('no-ssh', call) ? { noSsh: true } : {}),
        diesAfterMs,
      },
    };
  }

  #note(operation: Operation, machine: MachineRecord, more: { readonly repeated?: true } = {}): void {
    const { id, hostname, key, token, flavor, tags } = machine;
    this.#parts.journal.append({
      operation,
      id,
      hostname,
      key,
      ...(operation === 'create' ? { token, flavor, tags } : {}),
      ...more,
    });
  }

  #remember(token: string, id: string): void {
    this.#made.set(token, id);
    this.#ids.add(id);
  }

  #existing(id: string): MachineRecord {
    const machine = this.#parts.inventory.get(id);
    if (machine === undefined) throw new ApiError('NotFound', `Machine ${id} does not exist.`);
    return machine;
  }

  #changeable(id: string): MachineRecord {
    const machine = this.#existing(id);
    if (machine.state === 'deleting') throw new ApiError('Conflict', `Machine ${id} is being deleted.`);
    return machine;
  }
}

function isVisible(machine: MachineRecord): boolean {
  return machine.visibleAt === undefined || Date.now() >= machine.visibleAt;
}
