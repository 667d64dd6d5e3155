import { Client, isGrpcServiceError, type Connection } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { Config } from '../../config/index.js';
import { createNamespaceCommand, missingNamespaceText } from '../../model/endpoint.js';
import { groupSiteQueue, providerQueue, siteQueue, workflowQueues } from '../../model/names.js';
import { heddleWorkflowTypes } from '../../client/list.js';
import { collectExecutions, type WorkflowExecution } from '../../server/list-executions.js';
import { checkSearchAttributes } from '../../server/setup.js';
import {
  listWorkers,
  type QueueTasks,
  workerDifferences,
  workerReloads,
  workersWithOldPlugins,
} from '../../client/workers.js';
import { buildLines, type LoadedPlugin } from '../../model/worker-identity.js';
import { openKeys } from '../configuration.js';
import { fail, ok, skipped, warn, type Finding } from './doctor-local.js';
import { readQueue } from './pollers.js';
import { messageOf } from '../report-error.js';
import { formatAge, formatCount } from '../format.js';
import { protoMs } from '../../client/proto-time.js';
import { clockBoundMs, describeOffset, isBeyond, measureServerClock } from '../../client/server-clock.js';

const askMs = 5_000;
const grpcNotFound = 5;

export function checkNamespace(connection: Connection, namespace: string): Promise<Finding> {
  const check = 'namespace';
  const make = async (): Promise<Finding> => {
    const { namespaceInfo, config } = await ask(connection, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    const days = protoMs(config?.workflowExecutionRetentionTtl) / 86_400_000;
    const id = namespaceInfo?.id ?? 'no id';
    return ok(check, `${namespace} (${id}), keeps histories for ${days.toFixed(0)} days`);
  };
  return make().catch((error: unknown) =>
    isGrpcServiceError(error) && Number(error.code) === grpcNotFound
      ? fail(check, missingNamespaceText(namespace), createNamespaceCommand(namespace))
      : fail(check, `${namespace}: ${messageOf(error)}`, 'heddle config show'),
  );
}

export function checkAttributes(connection: Connection, namespace: string): Promise<Finding> {
  const check = 'search attributes';
  return ask(connection, () => checkSearchAttributes(connection, namespace)).then(
    ({ present, problem }) =>
      problem === undefined
        ? ok(check, present.join(', '))
        : warn(check, `${problem}; until then, lists do not show phases`, 'heddle server setup'),
    (error: unknown) => warn(check, `could not be read: ${messageOf(error)}`),
  );
}

/** Checks whether the memos of all running workflows are encrypted, and with keys that are here. */
export function checkEncryption(connection: Connection, namespace: string, config: Config): Promise<Finding> {
  const check = 'encryption';
  const make = async (): Promise<Finding> => {
    const memos = (await listOpen(connection, namespace)).flatMap(({ execution, memo }) =>
      Object.values(memo?.fields ?? {}).map((payload) => ({
        workflow: execution?.workflowId ?? '',
        payload,
      })),
    );
    if (memos.length === 0) return ok(check, `${config.encryption}; no workflow is running`);
    const plain = memos.find(({ payload }) => textOf(payload, 'encoding') !== 'binary/encrypted');
    if (plain !== undefined) {
      const text = `${plain.workflow} wrote plaintext to the server`;
      const isRequired = config.encryption === 'required';
      return isRequired ? fail(check, `${text}, though encryption is required`) : warn(check, text);
    }
    const known = openKeys(config)
      .list()
      .map(({ id }) => id);
    const used = new Set(memos.map(({ payload }) => textOf(payload, 'encryption-key-id')));
    const unknown = [...used].filter((id) => !known.includes(id));
    if (unknown.length === 0)
      return ok(
        check,
        `${config.encryption}; data of all running workflows is encrypted with keys that are here: ${[...used].toSorted().join(', ')}`,
      );
    const needing = memos.filter(({ payload }) => unknown.includes(textOf(payload, 'encryption-key-id')));
    const names = [...new Set(needing.map(({ workflow }) => workflow))];
    const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
    const text = `workflows are encrypted with keys that are not here: ${unknown.join(', ')} (${names.slice(0, 5).join(', ')}${more})`;
    return fail(check, text, 'heddle keys import FILE');
  };
  return make().catch((error: unknown) => warn(check, `could not be checked: ${messageOf(error)}`));
}

/** All workflows of Heddle that run, with their memos. */
async function listOpen(connection: Connection, namespace: string): Promise<readonly WorkflowExecution[]> {
  const types = heddleWorkflowTypes.map((type) => `'${type}'`).join(', ');
  const query = `WorkflowType IN (${types}) AND ExecutionStatus = 'Running'`;
  return collectExecutions(connection.workflowService, {
    namespace,
    query,
    call: (make) => ask(connection, make),
  });
}

/** Compares this host's clock with the server's. Workers on it take no tasks beyond the bound. */
export async function checkClock(connection: Connection, namespace: string): Promise<Finding> {
  const check = 'clock';
  const offset = await measureServerClock(connection, namespace);
  if (offset === undefined) return warn(check, "could not be compared with the server's");
  const text = `this host's clock is ${describeOffset(offset)}`;
  if (isBeyond(offset, clockBoundMs))
    return fail(
      check,
      `${text}; workers of this host accept no tasks if it is off by more than ${clockBoundMs / 1_000} s`,
      'timedatectl',
    );
  return isBeyond(offset, unusualMs) ? warn(check, text, 'timedatectl') : ok(check, text);
}

/** Synchronised clocks differ by less, in ms. */
const unusualMs = 5_000;

/** Checks who polls for workflows, for the tasks of the site, and for those of each provider account. */
export async function checkPollers(
  connection: Connection,
  namespace: string,
  { site, providers }: Config,
): Promise<readonly Finding[]> {
  const accounts = Object.entries(providers).map(([name, provider]) => providerQueue(provider.site, name));
  const sites = [...new Set([site, ...Object.values(providers).map((account) => account.site)])];
  return Promise.all([
    ...workflowQueues.map((queue) => checkQueue(connection, namespace, queue, 'workflows')),
    ...[...sites.flatMap((name) => [siteQueue(name), groupSiteQueue(name)]), ...accounts].map((queue) =>
      checkQueue(connection, namespace, queue, 'activities'),
    ),
  ]);
}

async function checkQueue(
  connection: Connection,
  namespace: string,
  queue: string,
  tasks: QueueTasks,
): Promise<Finding> {
  const check = 'workers';
  const { workers, last } = await ask(connection, () => readQueue(connection, namespace, queue, tasks));
  const what = `queue ${queue} (${tasks})`;
  if (last === undefined) return fail(check, `no worker polls ${what}`, 'heddle worker');
  const asked = `${last.worker} last polled ${formatAge(last.at, Date.now())} ago`;
  if (workers === 0) return fail(check, `${what}: ${asked}; it seems to be gone`, 'heddle worker');
  return ok(check, `${what}: ${formatCount(workers, 'worker')}, ${asked}`);
}

/** Checks whether all workers have one configuration: any of them may plan. */
export async function checkDifferences(connection: Connection, namespace: string): Promise<Finding> {
  const check = 'configurations';
  const temporal = new Client({ connection, namespace });
  const make = async (): Promise<Finding> => {
    const found = await ask(connection, () => workerDifferences(temporal));
    if (found.length === 0) return ok(check, 'all workers have the same configuration');
    const text = [...found, 'any of them may plan; give all of them the same heddle.yaml'].join('\n');
    // Only a warning, because a change of the configuration reaches workers one after the other.
    return warn(check, text, 'heddle config show');
  };
  return make().catch((error: unknown) => warn(check, `could not be compared: ${messageOf(error)}`));
}

/** Reports changes of heddle.yaml that running workers did not apply. */
export async function checkReloads(connection: Connection, namespace: string): Promise<Finding> {
  const check = 'changed settings';
  const temporal = new Client({ connection, namespace });
  const make = async (): Promise<Finding> => {
    const found = await ask(connection, () => workerReloads(temporal));
    return found.length === 0
      ? ok(check, 'all workers have applied their heddle.yaml')
      : warn(check, found.join('\n'), 'heddle config show');
  };
  return make().catch((error: unknown) => warn(check, `could not be checked: ${messageOf(error)}`));
}

/** Shows the builds of workers; only workers of one build are sure to continue each other's workflows. */
export async function checkBuilds(connection: Connection, namespace: string): Promise<Finding> {
  const check = 'builds';
  const temporal = new Client({ connection, namespace });
  const make = async (): Promise<Finding> => {
    const lines = buildLines(await ask(connection, () => listWorkers(temporal)));
    if (lines.length === 0) return skipped(check, 'no worker polls');
    if (lines.length === 1) return ok(check, lines.join());
    // Only a warning, because an upgrade reaches workers one after the other.
    return warn(check, ['workers run different builds', ...lines].join('\n'));
  };
  return make().catch((error: unknown) => warn(check, `could not be compared: ${messageOf(error)}`));
}

/** Compares the plugins that the workers of this machine run with the files on its disk. */
export function checkLoadedPlugins(
  connection: Connection,
  namespace: string,
  site: string,
  onDisk: readonly LoadedPlugin[],
): Promise<Finding> {
  const check = 'loaded plugins';
  const temporal = new Client({ connection, namespace });
  const make = async (): Promise<Finding> => {
    const found = await ask(connection, () => workersWithOldPlugins(temporal, siteQueue(site), onDisk));
    if (found.length === 0) return ok(check, 'the workers of this machine run the plugins on its disk');
    const lines = found.map(
      ({ worker, plugins }) =>
        `worker ${worker} runs older files of ${plugins.map(({ type, name }) => `${type} ${name}`).join(', ')}`,
    );
    const remedy =
      'workers load plugins when they start; heddle dev and supervisors restart a worker that ended';
    const pids = found.map(({ worker }) => worker.split('@', 1).join());
    return warn(check, [...lines, remedy].join('\n'), `kill ${pids.join(' ')}`);
  };
  return make().catch((error: unknown) => warn(check, `could not be compared: ${messageOf(error)}`));
}

function ask<Result>(connection: Connection, make: () => Promise<Result>): Promise<Result> {
  return connection.withDeadline(Date.now() + askMs, make);
}

function textOf(payload: temporal.api.common.v1.IPayload, key: string): string {
  return Buffer.from(payload.metadata?.[key] ?? []).toString('utf8');
}
