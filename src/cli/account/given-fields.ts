import type { Json, JsonObject } from '../../model/json.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { formatPath } from '../../schema/problem.js';
import { CliError } from '../errors.js';
import { isPlainSecret, parseFieldText, plainSecretWithin, referenceForms } from './field-text.js';
import { pairFault, splitPair, type Pairs } from '../pairs.js';

/**
 * Values of fields from the command line.
 * @throws CliError Usage if one is a secret: other users of the machine see command lines. The message
 * contains no value.
 */
export function fieldsOfArguments(descriptor: Descriptor, given: Pairs): JsonObject {
  const fields = toFields(descriptor, given, '--field');
  for (const [key, value] of Object.entries(fields)) {
    const field = descriptor.fields?.admin[key];
    const within = isPlainSecret(field, value) ? undefined : plainSecretWithin(field, value);
    if (within !== undefined)
      throw new CliError(
        'Usage',
        `--field ${key}: ${formatPath([key, ...within])} is a secret, which must not be on the command line, where other users can see it. ` +
          `Write it as a reference, {secret: "REFERENCE"}, one of ${referenceForms}.`,
        { next: 'heddle provider add --help' },
      );
    if (!isPlainSecret(field, value)) continue;
    throw new CliError(
      'Usage',
      `--field ${key}: a secret must not be on the command line, where other users can see it. Give a reference, --field ${key}=REFERENCE, one of ` +
        `${referenceForms}; or pass ${key}=VALUE on standard input with --secrets-from -; or omit the field on a terminal to be prompted.`,
      { next: 'heddle provider add --help' },
    );
  }
  return fields;
}

/** Reads the lines `NAME=VALUE` of --secrets-from. Messages name the line and hold no value. */
export function fieldsOfLines(descriptor: Descriptor, text: string): JsonObject {
  const pairs = text.split(/\r?\n/).flatMap((line, index): Pairs => {
    if (line.trim() === '') return [];
    const pair = splitPair(line);
    if (pair === undefined)
      throw new CliError(
        'Usage',
        `line ${index + 1} of standard input is not NAME=VALUE. Give a secret of several lines as a reference: --field NAME=file:PATH`,
      );
    return [pair];
  });
  return toFields(descriptor, pairs, 'standard input');
}

function toFields(descriptor: Descriptor, given: Pairs, where: string): JsonObject {
  const fields = new Map<string, Json>();
  for (const [index, [key, text]] of given.entries()) {
    const fault = pairFault([key, text], given.slice(0, index));
    if (fault !== undefined) throw new CliError('Usage', `${where}: ${fault}`);
    const value = parseFieldText(descriptor.fields?.admin[key], text);
    if (value !== undefined) fields.set(key, value);
  }
  return Object.fromEntries(fields);
}
