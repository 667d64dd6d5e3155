import { isGrpcServiceError, type Connection } from '@temporalio/client';
import { grpcStatus } from '../model/grpc-status.js';
import { keyIdField } from '../model/messages/payload-label.js';
import { coreQueue } from '../model/names.js';
import { readIdentity, type WorkerKey } from '../model/worker-identity.js';
import { HeddleError } from './errors.js';
import { identitiesOn } from './workers.js';

/** The keys of a client. */
export interface OwnKeys {
  /** @throws an Error if the key is not among them. */
  find(id: string): unknown;
  /** Names them in errors, such as the path of their folder. */
  readonly source: string;
}

export interface Server {
  readonly connection: Pick<Connection, 'workflowService'>;
  readonly namespace: string;
}

/**
 * Of a running workflow, the id of its first run, which all of its runs share; `absent` if none runs;
 * `unreadable` if the server does not permit the caller to describe workflows.
 */
export type Recipient = { readonly firstRun: string } | 'absent' | 'unreadable';

/** The workflows that messages are sent to. */
export interface Recipients {
  /**
   * @throws HeddleError Encryption if the client does not have the workflow's key: the workflow could not
   * read the message, and the client not the answer. For a workflow that does not run yet, checks the key of
   * the workers.
   */
  find(workflowId: string): Promise<Recipient>;
  /** The next `find` queries the server again. */
  forget(workflowId: string): void;
}

/** How long the key of a workflow and its first run are cached, in ms. */
const validMs = 60_000;
const remembered = 1_000;

/** @param keys Checked if given. */
export function recipientsOf(server: Server, keys?: OwnKeys): Recipients {
  const known = new Map<string, { readonly checkedAt: number; readonly running?: Recipient }>();
  return {
    async find(id) {
      const { checkedAt = 0, running: before } = known.get(id) ?? {};
      const isChecked = Date.now() - checkedAt < validMs;
      if (isChecked && before !== undefined) return before;
      const { keys: ofWorkflow, recipient } = await describe(server, id);
      if (keys !== undefined && !isChecked) await requireKey(server, keys, ofWorkflow[0]);
      if (known.size >= remembered) known.clear();
      const running = typeof recipient === 'object' ? recipient : undefined;
      known.set(id, { checkedAt: isChecked ? checkedAt : Date.now(), running });
      return recipient;
    },
    forget(id) {
      const { checkedAt } = known.get(id) ?? {};
      if (checkedAt !== undefined) known.set(id, { checkedAt });
    },
  };
}

async function requireKey(server: Server, keys: OwnKeys, ofWorkflow: string | undefined): Promise<void> {
  const used = ofWorkflow === undefined ? await keyInUse(server, keys) : await withPlace(server, ofWorkflow);
  if (used === undefined || has(keys, used.id)) return;
  throw new HeddleError('Encryption', `nothing was sent: ${missingKey(server, used, keys.source)}`, {
    next: 'heddle keys import FILE',
  });
}

/** A key that a namespace uses, and where it is. */
export interface UsedKey {
  readonly id: string;
  /** For people. */
  readonly place: string;
}

/** Says that a key is not where it is needed, and how to get it. */
export function missingKey({ namespace }: Server, { id, place }: UsedKey, source: string): string {
  return (
    `Temporal namespace ${namespace} uses key ${id}, which is not in ${source}. ` +
    `Run 'heddle keys export' ${place}, and 'heddle keys import' here`
  );
}

/** A key of the workers, or of the newest workflows of Heddle; preferably one of these keys. */
export async function keyInUse(server: Server, keys?: OwnKeys): Promise<UsedKey | undefined> {
  const found = await workerKeys(server);
  const ids = found.length > 0 ? found.map(({ id }) => id) : await keysOfNewest(server);
  const id = ids.find((one) => keys !== undefined && has(keys, one)) ?? ids[0];
  return id === undefined ? undefined : withPlace(server, id);
}

function has(keys: OwnKeys, id: string): boolean {
  try {
    keys.find(id);
    return true;
  } catch {
    return false;
  }
}

interface Described {
  /** The ids of the keys of its memo. */
  readonly keys: readonly string[];
  readonly recipient: Recipient;
}

async function describe({ connection, namespace }: Server, workflowId: string): Promise<Described> {
  try {
    const { workflowExecutionInfo: info } = await connection.workflowService.describeWorkflowExecution({
      namespace,
      execution: { workflowId },
    });
    if (info?.closeTime) return { keys: [], recipient: 'absent' };
    return {
      keys: keysOfMemo(info?.memo),
      recipient: info?.firstRunId ? { firstRun: info.firstRunId } : 'unreadable',
    };
  } catch (error) {
    const isAbsent = isGrpcServiceError(error) && Number(error.code) === grpcStatus.notFound;
    return { keys: [], recipient: isAbsent ? 'absent' : 'unreadable' };
  }
}

interface Memo {
  readonly fields?: Readonly<
    Record<string, { readonly metadata?: Readonly<Record<string, Uint8Array>> | null }>
  > | null;
}

/** Heddle's own fields: a namespace may have other workflows. */
function keysOfMemo(memo: Memo | null | undefined): readonly string[] {
  return Object.entries(memo?.fields ?? {}).flatMap(([name, { metadata }]) => {
    const id = metadata?.[keyIdField];
    return id === undefined || !name.startsWith('heddle') ? [] : [Buffer.from(id).toString()];
  });
}

async function withPlace(server: Server, id: string): Promise<UsedKey> {
  const found = (await workerKeys(server)).find((key) => key.id === id);
  const place =
    found === undefined
      ? 'on a machine that has it'
      : `on the machine of worker ${found.worker}, which has it in ${found.source}`;
  return { id, place };
}

/** The keys in the memos of the entities that began last. */
async function keysOfNewest({ connection, namespace }: Server): Promise<readonly string[]> {
  const page = await connection.workflowService
    .listWorkflowExecutions({ namespace, query: `ExecutionStatus = 'Running'`, pageSize: 20 })
    .catch(() => undefined);
  return (page?.executions ?? []).flatMap(({ memo }) => keysOfMemo(memo));
}

/** The keys with which the workers of a server encrypt, as far as they publish them. */
export async function workerKeys(
  server: Server,
): Promise<readonly (WorkerKey & { readonly worker: string })[]> {
  const identities = await identitiesOn(server, coreQueue).catch(() => []);
  return identities.map(readIdentity).flatMap(({ worker, key }) => (key ? [{ ...key, worker }] : []));
}
