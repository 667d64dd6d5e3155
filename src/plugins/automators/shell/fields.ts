import { isJsonObject } from '../../../model/json.js';
import { type Json, type JsonObject, PluginError } from '../../contract.js';

/** The user's fields besides script and data, which the method gets as text. */
export interface ShellFields {
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly interpreter: readonly string[] | undefined;
  readonly sudo: boolean;
  readonly expectedExitCodes: readonly number[];
}

/**
 * @throws PluginError Invalid naming the field: a declaration says what kind a field is, not what its entries
 * are.
 */
export function readFields(fields: JsonObject): ShellFields {
  const {
    arguments: words = [],
    environment = {},
    interpreter,
    sudo,
    expectedExitCodes: codes = [0],
  } = fields;
  if (!Array.isArray(words)) throw invalid('arguments', 'is not a list');
  if (!isJsonObject(environment)) throw invalid('environment', 'is not a mapping');
  if (!Array.isArray(codes) || codes.length === 0)
    throw invalid('expectedExitCodes', 'is not a list of exit codes');
  const read = typeof interpreter === 'string' ? interpreter.trim().split(/\s+/) : undefined;
  if (read?.[0] === '') throw invalid('interpreter', 'is empty');
  return {
    arguments: words.map((word, index) => textOf(word, `arguments[${index}]`)),
    environment: Object.fromEntries(
      Object.entries(environment).map(([name, value]) => {
        if (name.startsWith('HEDDLE_'))
          throw invalid(`environment.${name}`, 'is set by Heddle itself; use another name');
        return [name, textOf(value, `environment.${name}`)];
      }),
    ),
    interpreter: read,
    sudo: sudo === true,
    expectedExitCodes: codes.map((code, index) => {
      if (typeof code === 'number' && Number.isInteger(code) && code >= 0 && code <= 255) return code;
      throw invalid(`expectedExitCodes[${index}]`, 'is not a whole number from 0 to 255');
    }),
  };
}

function textOf(value: Json, field: string): string {
  if (typeof value === 'string' && !value.includes('\0')) return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw invalid(field, 'is not a text, a number or true or false');
}

function invalid(field: string, fault: string): PluginError {
  return new PluginError('Invalid', `automator shell: field ${field} ${fault}`);
}
