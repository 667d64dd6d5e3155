import type { Connection } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { Config } from '../../config.js';
import { clusterWorkflowType, coreQueue, providerQueue, siteQueue } from '../../model/names.js';
import { checkSearchAttributes } from '../../server/setup.js';
import { openKeys } from '../configuration.js';
import { fail, ok, warn, type Finding } from './doctor-local.js';
import { lookAtQueue } from './pollers.js';
import { describeError } from '../report-error.js';
import { formatAge } from '../time-text.js';

const askMs = 5_000;

export async function checkNamespace(connection: Connection, namespace: string): Promise<Finding> {
  try {
    const { namespaceInfo, config } = await ask(connection, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    const days = Number(String(config?.workflowExecutionRetentionTtl?.seconds ?? 0)) / 86_400;
    return ok(
      'namespace',
      `${namespace} (${namespaceInfo?.id ?? 'no id'}), keeps histories for ${days.toFixed(0)} days`,
    );
  } catch (error) {
    return fail(
      'namespace',
      `${namespace}: ${describeError(error).message}`,
      `temporal operator namespace create ${namespace}`,
    );
  }
}

export async function checkAttributes(connection: Connection, namespace: string): Promise<Finding> {
  try {
    const { present, problem } = await ask(connection, () => checkSearchAttributes(connection, namespace));
    return problem === undefined
      ? ok('search attributes', present.join(', '))
      : warn('search attributes', `${problem}; lists go without phases until then`, 'heddle server setup');
  } catch (error) {
    return warn(
      'search attributes',
      `the server does not say which there are: ${describeError(error).message}`,
    );
  }
}

/** Looks at what one cluster left on the server: is it encrypted, and with a key that is here? */
export async function checkEncryption(
  connection: Connection,
  namespace: string,
  config: Config,
): Promise<Finding> {
  try {
    const query = `WorkflowType = '${clusterWorkflowType}'`;
    const { executions } = await ask(connection, () =>
      connection.workflowService.listWorkflowExecutions({ namespace, query, pageSize: 20 }),
    );
    const memos = (executions ?? []).flatMap(({ execution, memo }) =>
      Object.values(memo?.fields ?? {}).map((payload) => ({
        workflow: execution?.workflowId ?? '',
        payload,
      })),
    );
    if (memos.length === 0)
      return ok('encryption', `${config.encryption}; no cluster has left anything to look at`);
    const plain = memos.find(({ payload }) => textOf(payload, 'encoding') !== 'binary/encrypted');
    if (plain !== undefined) {
      const text = `${plain.workflow} wrote plaintext to the server`;
      return config.encryption === 'required'
        ? fail('encryption', `${text}, though encryption is required`)
        : warn('encryption', text);
    }
    const known = openKeys(config)
      .list()
      .map(({ id }) => id);
    const unknown = [...new Set(memos.map(({ payload }) => textOf(payload, 'encryption-key-id')))].filter(
      (id) => !known.includes(id),
    );
    if (unknown.length > 0)
      return fail(
        'encryption',
        `clusters on the server are encrypted with keys that are not here: ${unknown.join(', ')}`,
        'heddle keys import FILE',
      );
    return ok(
      'encryption',
      `${config.encryption}; what the last clusters wrote is encrypted with keys that are here`,
    );
  } catch (error) {
    return warn('encryption', `could not be looked at: ${describeError(error).message}`);
  }
}

/** Who asks for work: for workflows, for the site's nodes, for each provider account. */
export async function checkPollers(
  connection: Connection,
  namespace: string,
  { site, providers }: Config,
): Promise<readonly Finding[]> {
  const accounts = Object.entries(providers).map(([name, provider]) => providerQueue(provider.site, name));
  const queues = [coreQueue, siteQueue(site), ...accounts];
  return Promise.all(queues.map((queue) => checkQueue(connection, namespace, queue)));
}

async function checkQueue(connection: Connection, namespace: string, queue: string): Promise<Finding> {
  const check = 'workers';
  const { workers, last } = await ask(connection, () => lookAtQueue(connection, namespace, queue));
  if (last === undefined) return fail(check, `nobody asks for work on queue ${queue}`, 'heddle worker');
  const asked = `${last.worker} last asked ${formatAge(last.at, Date.now())} ago`;
  if (workers === 0) return fail(check, `queue ${queue}: ${asked}; it seems to be gone`, 'heddle worker');
  return ok(check, `queue ${queue}: ${workers} ${workers === 1 ? 'worker' : 'workers'}, ${asked}`);
}

function ask<Result>(connection: Connection, make: () => Promise<Result>): Promise<Result> {
  return connection.withDeadline(Date.now() + askMs, make);
}

function textOf(payload: temporal.api.common.v1.IPayload, key: string): string {
  return Buffer.from(payload.metadata?.[key] ?? []).toString('utf8');
}
