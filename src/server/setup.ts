import { isGrpcServiceError, type ConnectionLike } from '@temporalio/client';
import { searchAttributes } from '../model/names.js';

/** What Heddle writes on its workflows so that lists can be filtered. */
export const heddleSearchAttributes = Object.values(searchAttributes);

/** The type of a search attribute, as Temporal's CLI names it. */
export function searchAttributeType(name: string): 'Keyword' | 'KeywordList' {
  return name === searchAttributes.labels ? 'KeywordList' : 'Keyword';
}

export interface SearchAttributeReport {
  readonly present: readonly string[];
  /** Must be omitted from every start, which would fail with an unregistered one. */
  readonly missing: readonly string[];
  /** Why the missing ones are missing and what to do; absent when none is. */
  readonly problem?: string;
}

/** A connection of a client or of a worker. */
type Operable = Pick<ConnectionLike, 'operatorService'>;

// temporal.api.enums.v1.IndexedValueType
const valueTypes = { Keyword: 2, KeywordList: 7 } as const;

function isRegistered(registered: Readonly<Record<string, number>>, name: string): boolean {
  return registered[name] === valueTypes[searchAttributeType(name)];
}

const grpcAlreadyExists = 6;

/** Which of Heddle's search attributes the namespace has. Throws when the server cannot be asked. */
export async function checkSearchAttributes(
  connection: Operable,
  namespace: string,
): Promise<SearchAttributeReport> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const present = heddleSearchAttributes.filter((name) => isRegistered(customAttributes, name));
  const missing = heddleSearchAttributes.filter((name) => !isRegistered(customAttributes, name));
  const otherwise = missing.filter((name) => customAttributes[name] !== undefined);
  if (missing.length === 0) return { present, missing };
  const problem =
    otherwise.length > 0
      ? `${otherwise.join(', ')} of namespace ${namespace} is registered with another type than ${otherwise.map(searchAttributeType).join(', ')}; remove it (temporal operator search-attribute remove)`
      : `namespace ${namespace} lacks ${missing.join(', ')}; run \`heddle server setup\``;
  return { present, missing, problem };
}

/**
 * Registers missing search attributes; concurrent calls are safe. Lack of permission is not an
 * error: the report says which are missing and why.
 */
export async function registerSearchAttributes(
  connection: Operable,
  namespace: string,
): Promise<SearchAttributeReport> {
  try {
    const before = await checkSearchAttributes(connection, namespace);
    if (before.missing.length === 0) return before;
    await add(connection, namespace, before.missing);
    return await checkSearchAttributes(connection, namespace);
  } catch (cause) {
    if (!isGrpcServiceError(cause)) throw cause;
    const command = heddleSearchAttributes
      .map((name) => `--name ${name} --type ${searchAttributeType(name)}`)
      .join(' ');
    return {
      present: [],
      missing: heddleSearchAttributes,
      problem:
        `the server did not permit registering search attributes in namespace ${namespace} (${cause.details || cause.message}); ` +
        `run as an administrator: temporal operator search-attribute create --namespace ${namespace} ${command}`,
    };
  }
}

async function add(connection: Operable, namespace: string, names: readonly string[]): Promise<void> {
  const added = Object.fromEntries(names.map((name) => [name, valueTypes[searchAttributeType(name)]]));
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added });
  } catch (cause) {
    // Another process registered them in the same moment.
    if (!isGrpcServiceError(cause) || Number(cause.code) !== grpcAlreadyExists) throw cause;
  }
}
