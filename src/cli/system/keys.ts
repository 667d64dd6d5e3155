import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Config } from '../../config/index.js';
import {
  addKey,
  createKeys,
  exportKeys,
  importKeys,
  openKeyRing,
  rotateKeys,
  useKey,
  type KeySummary,
} from '../../secrets/keys.js';
import { CliError, exitCodes } from '../errors.js';
import { openKeys, readConfiguration, type CommonOptions } from '../configuration.js';
import { createOutput, type Output } from '../output.js';
import { formatMoment } from '../format.js';

export async function create(options: CommonOptions): Promise<number> {
  const { keyFolder } = readConfiguration(options);
  const [key] = createKeys(keyFolder).list();
  const output = createOutput(options);
  output.line(`key ${key?.id} is made, in ${keyFolder}`);
  output.line(
    'Every worker and every user of this server needs it: heddle keys export there, heddle keys import here.',
  );
  output.document({ folder: keyFolder, keys: key === undefined ? [] : [key] });
  return exitCodes.ok;
}

export async function list(options: CommonOptions): Promise<number> {
  const config = readConfiguration(options);
  const keys = openKeys(config).list();
  const output = createOutput(options);
  printKeys(output, keys);
  output.document({ from: config.keys === undefined ? config.keyFolder : 'HEDDLE_KEYS', keys });
  return exitCodes.ok;
}

export interface RotateOptions extends CommonOptions {
  /** Adds a key that encrypts nothing yet. */
  readonly stage?: boolean;
  /** Encrypts with this key from now on. */
  readonly to?: string;
}

export async function rotate(options: RotateOptions): Promise<number> {
  if (options.stage === true && options.to !== undefined)
    throw new CliError('Usage', '--stage adds a key and --to begins to use one: give one of them');
  const config = readConfiguration(options);
  refuseGivenKeys(config);
  const { keyFolder } = config;
  const output = createOutput(options);
  if (options.stage === true) {
    const id = await addKey(keyFolder);
    output.line(
      `key ${id} is added, and encrypts nothing yet: bring it to every worker and user (heddle keys export, heddle keys import)`,
    );
    output.line(`next: heddle keys rotate --to ${id}`);
  } else if (options.to !== undefined) {
    await useKey(keyFolder, options.to);
    output.line(`key ${options.to} encrypts from now on; workers take it up within a minute`);
  } else {
    const id = await rotateKeys(keyFolder);
    output.line(`key ${id} encrypts from now on; the older keys stay, for what they encrypted`);
    output.line('Every other worker and user needs it too: heddle keys export, heddle keys import.');
  }
  output.document({ folder: keyFolder, keys: openKeyRing({ folder: keyFolder, create: false }).list() });
  return exitCodes.ok;
}

/** Without a file the keys go to standard output, for a pipe; never to a terminal by accident. */
export async function exportRing(file: string | undefined, options: CommonOptions): Promise<number> {
  const config = readConfiguration(options);
  refuseGivenKeys(config);
  const text = exportKeys(config.keyFolder);
  if (file === undefined || file === '-') {
    if (file === undefined && process.stdout.isTTY)
      throw new CliError(
        'Usage',
        'these keys open everything: name a file, or - to show them here all the same',
        { next: 'heddle keys export FILE' },
      );
    process.stdout.write(text);
    return exitCodes.ok;
  }
  const handle = await open(file, 'wx', 0o600).catch((cause: unknown) => {
    throw new CliError(
      'Invalid',
      `cannot write ${file}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  });
  await handle.writeFile(text).finally(() => handle.close());
  createOutput(options).line(
    `the keys are in ${file} (mode 0600). They decrypt every payload: remove the file after the import.`,
  );
  createOutput(options).document({ file });
  return exitCodes.ok;
}

export async function importRing(file: string, options: CommonOptions): Promise<number> {
  const config = readConfiguration(options);
  refuseGivenKeys(config);
  const fresh = await importKeys(config.keyFolder, readKeys(file), file === '-' ? 'standard input' : file);
  const output = createOutput(options);
  output.line(
    fresh.length === 0
      ? 'nothing new: these keys are all here already'
      : `imported ${fresh.join(', ')} into ${config.keyFolder}`,
  );
  output.document({ folder: config.keyFolder, imported: fresh });
  return exitCodes.ok;
}

function readKeys(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new CliError(
      'Invalid',
      `cannot read ${file}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

function refuseGivenKeys(config: Config): void {
  if (config.keys !== undefined)
    throw new CliError(
      'Refused',
      'the keys come from HEDDLE_KEYS, not from a folder; change them where that is set, or unset it',
    );
}

function printKeys(output: Output, keys: readonly KeySummary[]): void {
  const rows = keys.map(({ id, createdAt, current }) => [
    id,
    formatMoment(createdAt),
    current ? 'encrypts and decrypts' : 'decrypts',
  ]);
  output.table(['KEY', 'MADE', 'USE'], rows);
}
