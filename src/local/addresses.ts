import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { systemCodeOf } from './errors.js';
import { readJsonFile, writeJsonFile } from './files.js';

const perNetwork = 254;
const networks = 16;
const blockSchema = z.object({ block: z.string(), port: z.number().int() });
type Block = z.infer<typeof blockSchema>;

/** Not 22: a host's own sshd usually listens there on every address. */
const ports = [2222, 22_022, 42_022] as const;

/** The address of a machine's SSH server. Port 0: chosen at the first boot. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/**
 * Allocates addresses. On Linux each data folder gets 4,064 addresses of 127.0.0.0/8, reserved by a listener
 * on the first; elsewhere machines share 127.0.0.1 and differ by port.
 */
export class Addresses {
  readonly #block: Block | undefined;
  readonly #guard: Server | undefined;
  readonly #shared: string;
  #next = 1;

  private constructor(block: Block | undefined, guard: Server | undefined, shared = '127.0.0.1') {
    this.#shared = shared;
    this.#block = block;
    this.#guard = guard;
  }

  /** All machines at one address, with different ports. */
  static at(address: string): Addresses {
    return new Addresses(undefined, undefined, address);
  }

  /** @param range first part of the block, such as `127.77.16`; derived from the folder's name by default. */
  static async open(dataFolder: string, range: string | undefined): Promise<Addresses> {
    const file = join(dataFolder, 'addresses.json');
    const kept = readJsonFile(file, blockSchema);
    if (kept !== undefined) return new Addresses(kept, await claimKept(kept, file));
    for (const candidate of candidates(dataFolder, range)) {
      const outcome = await listen(candidate);
      if (outcome === 'unsupported') return new Addresses(undefined, undefined);
      if (outcome === 'taken') continue;
      writeJsonFile(file, candidate);
      return new Addresses(candidate, outcome);
    }
    throw new Error(
      'No free block of 127.x addresses was found. Stop what listens on port 2222 of every address, or give --address-range 127.A.B.',
    );
  }

  /** A text for people. */
  get description(): string {
    return this.#block === undefined
      ? `${this.#shared}, a port for each machine`
      : `${this.#block.block}.0/20, port ${this.#block.port}`;
  }

  /** The next unused address. A freed address is reused late, because clients remember host keys. */
  take(used: ReadonlySet<string>): Endpoint | undefined {
    const block = this.#block;
    if (block === undefined) return { address: this.#shared, port: 0 };
    const size = perNetwork * networks;
    for (let step = 0; step < size; step += 1) {
      const index = (this.#next + step) % size;
      const address = addressAt(block, index);
      if (index === 0 || used.has(address)) continue;
      this.#next = index + 1;
      return { address, port: block.port };
    }
    return undefined;
  }

  /** An address for the trial boot; machines get it last. */
  last(): Endpoint {
    const block = this.#block;
    return block === undefined
      ? { address: this.#shared, port: 0 }
      : { address: addressAt(block, perNetwork * networks - 1), port: block.port };
  }

  close(): void {
    this.#guard?.close();
  }
}

async function claimKept(block: Block, file: string): Promise<Server> {
  const outcome = await listen(block);
  if (typeof outcome !== 'string') return outcome;
  throw new Error(
    `The addresses of this folder's machines, ${block.block}.0/20 port ${block.port}, are ${outcome}. ` +
      `Stop the service that uses them; or, if the machines of this folder are no longer needed, delete ${file} and the folder machines beside it.`,
  );
}

function candidates(dataFolder: string, range: string | undefined): readonly Block[] {
  if (range !== undefined) return ports.map((port) => ({ block: range, port }));
  const hash = createHash('sha256').update(dataFolder).digest();
  return ports.flatMap((port) =>
    Array.from({ length: 16 }, (_, step) => {
      const number = hash.readUInt32BE(0) + step * 37;
      return { block: `127.${64 + (number % 180)}.${16 * (Math.floor(number / 180) % networks)}`, port };
    }),
  );
}

function addressAt(block: Block, index: number): string {
  const [first, second, third] = block.block.split('.').map(Number);
  return `${first}.${second}.${(third ?? 0) + Math.floor(index / perNetwork)}.${1 + (index % perNetwork)}`;
}

/** `unsupported`: this system has no loopback addresses but 127.0.0.1. */
function listen(block: Block): Promise<Server | 'taken' | 'unsupported'> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => {
      const code = systemCodeOf(error);
      if (code === 'EADDRINUSE' || code === 'EACCES') resolve('taken');
      else if (code === 'EADDRNOTAVAIL') resolve('unsupported');
      else reject(error);
    });
    server.listen(block.port, addressAt(block, 0), () => resolve(server));
  });
}
