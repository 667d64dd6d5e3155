import { isIPv4 } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const usage = `Usage: main.js --data FOLDER [options]
  --port PORT            port of the API; 0, the default, takes a free one
  --kind KIND            sandbox, directory, or auto (default: sandboxes where they work)
  --sshd PATH|none       OpenSSH's server for sandboxes; by default it is looked for
  --address-range RANGE  first part of the machines' addresses, such as 127.77.16 (takes 127.77.16.0/20)
  --address ADDRESS      one IPv4 address for the API and all machines, which differ by port; directories only. By
                         default the API is on 127.0.0.1 and each machine has a 127.x address of its own
  --boot-delay MS        time between CREATE and boot (default 300)
  --delete-delay MS      how long a deleted machine is still seen (default 200)
  --write-delay MS       how long writing and capturing an image takes at least (default 0)
  --page-size N          most machines in one answer, whatever limit is asked for (default 1000)
  --temporary            remove FOLDER when the service stops
  --log-level LEVEL      debug, info (default), warn or error`;

export interface Options {
  readonly dataFolder: string;
  readonly port: number;
  readonly kind: 'sandbox' | 'directory' | 'auto';
  /** A path, `none`, or undefined: look for it. */
  readonly sshd: string | undefined;
  readonly addressRange: string | undefined;
  /** Of the API and of all machines; undefined: loopback. */
  readonly address: string | undefined;
  readonly bootDelayMs: number;
  readonly deleteDelayMs: number;
  readonly writeDelayMs: number;
  readonly pageSize: number;
  readonly isTemporary: boolean;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

/** Reads the command line. @throws Error that says which option is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      data: text,
      port: text,
      kind: text,
      sshd: text,
      'address-range': text,
      address: text,
      'boot-delay': text,
      'delete-delay': text,
      'write-delay': text,
      'page-size': text,
      temporary: { type: 'boolean' },
      'log-level': text,
    },
  });
  if (values.data === undefined || values.data === '')
    throw new Error('--data FOLDER is missing: the folder that machines are kept in.');
  return {
    dataFolder: resolve(values.data),
    port: number('--port', values.port, 0, 65_535),
    kind: oneOf('--kind', values.kind, ['auto', 'sandbox', 'directory']),
    sshd: values.sshd,
    addressRange: range(values['address-range']),
    address: address(values.address, values.kind),
    bootDelayMs: number('--boot-delay', values['boot-delay'], 300, 3_600_000),
    deleteDelayMs: number('--delete-delay', values['delete-delay'], 200, 3_600_000),
    writeDelayMs: number('--write-delay', values['write-delay'], 0, 3_600_000),
    pageSize: Math.max(1, number('--page-size', values['page-size'], 1_000, 1_000)),
    isTemporary: values.temporary === true,
    logLevel: oneOf('--log-level', values['log-level'], ['info', 'debug', 'warn', 'error']),
  };
}

function number(name: string, text: string | undefined, otherwise: number, max: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= max) return value;
  throw new Error(`${name} must be a whole number from 0 to ${max}, not '${text}'.`);
}

/** The first choice is the default. */
function oneOf<Choice extends string>(
  name: string,
  text: string | undefined,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  if (text === undefined) return choices[0];
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new Error(`${name} must be one of ${choices.join(', ')}, not '${text}'.`);
}

function address(text: string | undefined, kind: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!isIPv4(text) || text === '0.0.0.0')
    throw new Error(`--address must be one IPv4 address, not '${text}'.`);
  if (kind !== 'directory') throw new Error('--address is for --kind directory.');
  return text;
}

function range(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const parts = /^127\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  const [second = 256, third = 256] = parts ?? [];
  if (second <= 255 && third <= 240 && third % 16 === 0) return text;
  throw new Error(`--address-range must be 127.A.B, B a multiple of 16 up to 240, not '${text}'.`);
}
