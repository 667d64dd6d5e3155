import type { ExportOptions } from '../client/entity-client.js';
import type { Json } from '../model/json.js';
import type { Moved, Records } from '../model/move.js';
import { isPlainObject } from '../schema/plain-json.js';
import { readTextFile } from '../schema/read-text.js';
import { KeyError, type KeyRing } from '../secrets/keys.js';
import { openText, sealText } from '../secrets/sealed-text.js';
import type { ServerOptions } from './configuration.js';
import { CliError } from './errors.js';
import type { Session } from './session.js';
import { confirm } from './terminal.js';
import { untilEnd } from './waiting.js';

/** What records are of; those of one kind cannot be read as those of another. */
type Noun = 'pool' | 'image';

export interface ExportVerbOptions extends ServerOptions {
  readonly cancel?: boolean;
  readonly yes?: boolean;
}

const mostBytes = 16 * 1024 * 1024;

interface ExportWords {
  /** What an exported one does not do, as the end of a sentence. */
  readonly rests: string;
  readonly waitsFor: (awaits: readonly string[]) => string;
}

/** Stops a pool or an image after confirmation, and waits for its records. */
export async function exportRecords<Carried extends Moved>(
  { output }: Session,
  noun: Noun,
  name: string,
  { rests, waitsFor }: ExportWords,
  options: ExportVerbOptions,
  ask: (options: ExportOptions) => Promise<Records<Carried>>,
): Promise<Records<Carried>> {
  await confirm(`Export ${noun} ${name}? It stops here: ${rests} until it is restored elsewhere.`, options);
  let noted = '';
  const onWait = (awaits: readonly string[]): void => {
    const text = waitsFor(awaits);
    if (text !== noted) output.note(text);
    noted = text;
  };
  return untilEnd({
    what: `${noun} ${name} is stopped, and its export`,
    next: `heddle ${noun} export ${name}`,
    end: (signal) => ask({ signal, onWait }),
  });
}

/**
 * Asks for confirmation before an exported pool or image resumes. @throws CliError Refused if
 * it is not exported.
 */
export async function confirmGoOn(
  noun: Noun,
  name: string,
  { exported }: Moved,
  parts: string,
  options: ExportVerbOptions,
): Promise<void> {
  if (exported === undefined)
    throw new CliError('Refused', `${noun} ${name} is not exported`, { next: `heddle ${noun} list` });
  await confirm(
    `Resume ${noun} ${name}? Only if its records were not restored anywhere: otherwise two ${noun}s have the same ${parts}.`,
    options,
  );
}

/** The text of the member `records` in the file of an export. */
export function sealRecords(keys: KeyRing, noun: Noun, records: Records<Moved>): string {
  return sealText(keys, purposeOf(noun), JSON.stringify(records));
}

/** @throws CliError Usage if the file holds no records, KeyError if its key is not there. */
export function readRecords<Carried extends Moved>(
  file: string,
  noun: Noun,
  keys: KeyRing,
): Records<Carried> {
  const read = readTextFile(file, mostBytes);
  if (!read.ok) throw new CliError('Usage', `${file} cannot be read: ${read.wrong}`);
  const wrong = (why: string, cause?: unknown): CliError =>
    new CliError('Usage', `${file} does not hold the ${purposeOf(noun)}: ${why}`, {
      cause,
      next: `heddle ${noun} export ${noun.toUpperCase()} > FILE`,
    });
  let document: Json;
  try {
    document = JSON.parse(read.text) as Json;
  } catch (cause) {
    throw wrong('it is not JSON', cause);
  }
  if (!isPlainObject(document) || typeof document['records'] !== 'string') throw wrong('it has no records');
  let text: string;
  try {
    text = openText(keys, purposeOf(noun), document['records']);
  } catch (cause) {
    throw cause instanceof KeyError && cause.code === 'Invalid' ? wrong(cause.message, cause) : cause;
  }
  const records = JSON.parse(text) as Records<Carried>;
  if (records.version !== 1) throw wrong('they are of an unknown version');
  return records;
}

/** What the encryption of records is bound to. */
function purposeOf(noun: Noun): string {
  return `records of ${noun === 'pool' ? 'a pool' : 'an image'}`;
}
