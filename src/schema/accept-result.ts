import { isIP } from 'node:net';
import type { AnyAction } from '../model/action.js';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import {
  machinePartOf,
  refusedIdentityKeys,
  reservedKeysIn,
  type IdentityKey,
} from '../model/node/result-table.js';
import { possibleReferences } from '../model/secret-reference.js';
import { maxPayloadBytes, maxResultBytes, mergePayload } from '../model/node/payload.js';
import { unsafeText, unsafeUser } from '../model/safe-text.js';
import { PluginError } from '../plugins/errors.js';
import type { Descriptor } from './descriptor.js';
import { foreignReferences, isValidReference, type OwnReferences } from './references.js';
import { copyPlainJson } from './plain-json.js';
import { formatPath, quoteValue, type Path } from './problem.js';
import { parseResult, type ParsedResult } from './result.js';

export interface ResultOf {
  readonly plugin: Pick<Descriptor, 'name'>;
  readonly action: AnyAction;
  /** The node's payload, which the result must not make too large. Default: empty. */
  readonly config?: JsonObject;
  /**
   * References of the account's own fields and inventory: `ssh-auth` may contain only these. Default: none.
   */
  readonly references?: OwnReferences;
  /** Secrets of the account, which must not be stored with the node. */
  readonly secrets?: readonly string[];
}

/**
 * The only filter for results of plugins, and thereby of nodes: everything merged into a payload passes it.
 * @throws PluginError Invalid, naming the plugin, each key that the action may not return, and the
 * remedy. If an unreadable inventory may contain a reference of the result, the error of that inventory.
 */
export function acceptResult(
  returned: unknown,
  { plugin, action, config = {}, references, secrets = [] }: ResultOf,
): ParsedResult & { readonly result: JsonObject } {
  const parsed = parseResult(returned, { plugin: plugin.name });
  const { result = {} } = parsed;
  const identity = refusedIdentityKeys(action, result);
  const reserved = reservedKeysIn(result);
  const faults = [
    ...(reserved.length === 0
      ? []
      : [`${reserved.join(', ')}, which is reserved for Heddle; return it under another key`]),
    ...(identity.length === 0
      ? []
      : [
          `${identity.join(', ')} from ${action}, which identifies the machine: ` +
            'only CREATE and CONFIRM of a provider may set it; return it under another key',
        ]),
    ...refusedReferences(references, result),
    ...malformed(result, identity),
    ...heldSecrets(result, secrets),
  ];
  if (faults.length > 0)
    throw new PluginError('Invalid', `plugin ${plugin.name} returned ${faults.join('; and ')}`);
  const size = Buffer.byteLength(JSON.stringify(mergePayload(config, result)));
  if (size > maxPayloadBytes)
    throw new PluginError(
      'Invalid',
      `with the result of plugin ${plugin.name}, the node's payload has ${size} bytes; ` +
        `the limit is ${maxPayloadBytes}`,
    );
  return { ...parsed, result };
}

/**
 * The part of a failure's result that may be merged into the payload. Drops everything else, so
 * that the failure itself is always reported.
 */
export function acceptFailure(returned: unknown, action: AnyAction): JsonObject | undefined {
  const copy = copyPlainJson(returned, { bytes: maxResultBytes, depth: 16 });
  if (!copy.ok || !isJsonObject(copy.value)) return undefined;
  const part = machinePartOf(copy.value);
  const refused = refusedIdentityKeys(action, part);
  const accepted = Object.entries(part).filter(
    ([key, value]) =>
      value !== null && !refused.includes(key) && malformed({ [key]: value }, []).length === 0,
  );
  return accepted.length === 0 ? undefined : Object.fromEntries(accepted);
}

function refusedReferences(
  own: OwnReferences = { references: new Map() },
  result: JsonObject,
): readonly string[] {
  const foreign = foreignReferences(result, own).map(formatPath);
  if (foreign.length > 0 && own.incomplete !== undefined) throw own.incomplete;
  return possibleReferences(result)
    .map(({ path }) => path)
    .filter((path) => !isCredential(path) || foreign.includes(formatPath(path)))
    .map((path) => {
      const place = path.length === 0 ? 'the key secret' : `${formatPath(path)}, which has the key secret`;
      return (
        `${place}: it is a secret reference, and references in results are refused; ` +
        "return the value under another key. In ssh-auth it must come from one of the account's own fields with passReferences"
      );
    });
}

/** Shorter ones, such as "root", occur in ordinary values. */
const shortestSecret = 6;

function heldSecrets(result: JsonObject, secrets: readonly string[]): readonly string[] {
  const sought = secrets.filter((secret) => secret.length >= shortestSecret);
  return textsIn(result)
    .filter(([, text]) => sought.some((secret) => text.includes(secret)))
    .map(
      ([path]) =>
        `${formatPath(path)}, which contains a secret of the account: results are stored with the node; ` +
        'remove it. A credential in ssh-auth requires passReferences in the descriptor',
    );
}

function textsIn(value: Json, path: Path = []): readonly (readonly [Path, string])[] {
  if (typeof value === 'string') return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => textsIn(item, [...path, index]));
  return isJsonObject(value)
    ? Object.entries(value).flatMap(([key, item]) => textsIn(item, [...path, key]))
    : [];
}

function isCredential([first, second = '', ...rest]: Path): boolean {
  return first === 'ssh-auth' && credentials.has(String(second)) && rest.length === 0;
}

const credentials: ReadonlySet<string> = new Set(['password', 'key', 'agent']);

type Check = (value: Json) => boolean;

const isText =
  (longest: number, options?: { readonly blanks: true }): Check =>
  (value) =>
    typeof value === 'string' &&
    value.length <= longest &&
    unsafeText(value, options) === undefined &&
    value.trim() === value;

/** The form of each identity key. Null deletes a key, so it is not checked. */
const shapes: Readonly<Record<IdentityKey, readonly [Check, string]>> = {
  providerid: [
    isText(512, { blanks: true }),
    'text that identifies the machine, without quotes and control characters',
  ],
  hostname: [isText(253), 'a host name'],
  ipaddress: [
    (value) => typeof value === 'string' && isIP(value) > 0 && !isUnspecified(value),
    'an address of the machine',
  ],
  'ssh-port': [
    (value) => typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535,
    'a number from 1 to 65535',
  ],
  'ssh-host-key': [
    (value) => [value].flat().every(isText(16_384, { blanks: true })),
    'a host key, or a list of host keys',
  ],
  'ssh-auth': [isLogin, 'an object {user, password, key, agent} of texts'],
  pool: [isJsonObject, 'an object'],
};

/** The value of ssh-auth is never quoted: it may be secret. */
function malformed(result: JsonObject, skipped: readonly string[]): readonly string[] {
  return Object.entries(shapes).flatMap(([key, [isRight, what]]) => {
    const value = result[key];
    if (value === undefined || value === null || skipped.includes(key) || isRight(value)) return [];
    return [
      key === 'ssh-auth'
        ? `${key} that is not ${what}`
        : `${key} that should be ${what}, but is ${quoteValue(value)}`,
    ];
  });
}

function isUnspecified(address: string): boolean {
  return /^(0\.0\.0\.0|[0:]+)$/.test(address);
}

/** Accepts references as texts: whether they are allowed is checked separately. */
function isLogin(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  return Object.entries(value).every(([key, item]) => {
    if (key !== 'user' && !credentials.has(key)) return false;
    if (item === null) return true;
    if (key !== 'user' && isJsonObject(item)) return isValidReference(item);
    if (typeof item !== 'string' || item.includes('\0')) return false;
    if (key === 'user') return unsafeUser(item) === undefined;
    return key !== 'agent' || unsafeText(item, { blanks: true }) === undefined;
  });
}
