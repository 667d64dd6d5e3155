import type { Json } from '../model/json.js';
import type { Moved, Records } from '../model/move.js';
import { isPlainObject } from '../schema/plain-json.js';
import { readTextFile } from '../schema/read-text.js';
import { KeyError, type KeyRing } from '../secrets/keys.js';
import { openText, sealText } from '../secrets/sealed-text.js';
import { CliError } from './errors.js';

/** What records are of; those of one kind cannot be read as those of another. */
export type RecordsOf = 'a pool' | 'an image';

const mostBytes = 16 * 1024 * 1024;

/** The text of the member `records` in the file of an export. */
export function sealRecords(keys: KeyRing, of: RecordsOf, records: Records<Moved>): string {
  return sealText(keys, `records of ${of}`, JSON.stringify(records));
}

/** @throws CliError Usage if the file holds no records, KeyError if its key is not there. */
export function readRecords<Carried extends Moved>(
  file: string,
  of: RecordsOf,
  keys: KeyRing,
): Records<Carried> {
  const read = readTextFile(file, mostBytes);
  if (!read.ok) throw new CliError('Usage', `${file} cannot be read: ${read.wrong}`);
  const noun = of.replace(/^an? /, '');
  const wrong = (why: string, cause?: unknown): CliError =>
    new CliError('Usage', `${file} does not hold the records of ${of}: ${why}`, {
      cause,
      next: `heddle ${noun} export ${noun.toUpperCase()} > FILE`,
    });
  let document: Json;
  try {
    document = JSON.parse(read.text) as Json;
  } catch (cause) {
    throw wrong('it is no JSON', cause);
  }
  if (!isPlainObject(document) || typeof document['records'] !== 'string') throw wrong('it has no records');
  let text: string;
  try {
    text = openText(keys, `records of ${of}`, document['records']);
  } catch (cause) {
    throw cause instanceof KeyError && cause.invalid ? wrong(cause.message, cause) : cause;
  }
  const records = JSON.parse(text) as Records<Carried>;
  if (records.version !== 1) throw wrong('they are of an unknown version');
  return records;
}
