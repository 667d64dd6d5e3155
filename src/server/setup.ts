import { isGrpcServiceError, type ConnectionLike } from '@temporalio/client';

/** What Heddle writes on its workflows so that lists can be filtered; all of type Keyword. */
export const heddleSearchAttributes = ['HeddleCluster', 'HeddlePhase', 'HeddleProvider'] as const;

export interface SearchAttributeReport {
  readonly present: readonly string[];
  /** Must be left out of every start: an unregistered one fails it. */
  readonly missing: readonly string[];
  /** Why the missing ones are missing and what to do; absent when none is. */
  readonly problem?: string;
}

/** A connection of a client or of a worker. */
type Operable = Pick<ConnectionLike, 'operatorService'>;

// temporal.api.enums.v1.IndexedValueType
const keyword = 2;
const grpcAlreadyExists = 6;

/** Which of Heddle's search attributes the namespace has. Throws when the server cannot be asked. */
export async function checkSearchAttributes(
  connection: Operable,
  namespace: string,
): Promise<SearchAttributeReport> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const present = heddleSearchAttributes.filter((name) => customAttributes[name] === keyword);
  const missing = heddleSearchAttributes.filter((name) => customAttributes[name] !== keyword);
  const otherwise = missing.filter((name) => customAttributes[name] !== undefined);
  if (missing.length === 0) return { present, missing };
  const problem =
    otherwise.length > 0
      ? `${otherwise.join(', ')} of namespace ${namespace} is registered with another type than Keyword; remove it (temporal operator search-attribute remove)`
      : `namespace ${namespace} lacks ${missing.join(', ')}; run \`heddle server setup\``;
  return { present, missing, problem };
}

/**
 * Registers missing search attributes; concurrent calls are safe. Lack of permission is no error: the report
 * says which are missing and why.
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
    const command = heddleSearchAttributes.map((name) => `--name ${name} --type Keyword`).join(' ');
    return {
      present: [],
      missing: heddleSearchAttributes,
      problem:
        `the server did not let us register search attributes in namespace ${namespace} (${cause.details || cause.message}); ` +
        `someone who may can run: temporal operator search-attribute create --namespace ${namespace} ${command}`,
    };
  }
}

async function add(connection: Operable, namespace: string, names: readonly string[]): Promise<void> {
  const searchAttributes = Object.fromEntries(names.map((name) => [name, keyword]));
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (cause) {
    // Another process registered them in the same moment.
    if (!isGrpcServiceError(cause) || Number(cause.code) !== grpcAlreadyExists) throw cause;
  }
}
