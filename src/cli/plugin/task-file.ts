import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { serviceActions, type Action, type AnyAction } from '../../model/action.js';
import { isJsonObject, type JsonObject } from '../../model/json.js';
import { taskId } from '../../model/names.js';
import type { Task } from '../../plugins/contract.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { checkFields } from '../../schema/fields.js';
import { hasErrors, ProblemsError, type Problem } from '../../schema/problem.js';
import { CliError } from '../errors.js';
import { wordsForFileError } from '../../schema/read-text.js';

const providerActions = ['CREATE', 'CONFIRM', 'DELETE'] as const;
const automatorActions = ['BOOTSTRAP', ...serviceActions] as const;

export function readTask(file: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch (error) {
    throw new CliError('Usage', `${file} cannot be read as a task: ${wordsForFileError(error)}`, {
      cause: error,
    });
  }
  if (!isJsonObject(value))
    throw new CliError(
      'Usage',
      `${file} is not a task: write {"taskName": "CREATE", "config": {…}, "provider": {"fields": {…}}}`,
    );
  return value;
}

/** Fills in what the file omits. Each run is another task, unless the file contains a taskId. */
export function toTask(written: JsonObject, plugin: string): Task {
  const known: readonly Action[] = [...providerActions, ...automatorActions];
  const taskName = known.find((action) => action === written['taskName']);
  if (taskName === undefined)
    throw new CliError(
      'Usage',
      `taskName is ${JSON.stringify(written['taskName']) ?? 'missing'}; it must be one of ${known.join(', ')}`,
    );
  const text = (key: string, otherwise: string): string =>
    typeof written[key] === 'string' ? written[key] : otherwise;
  const part = (key: string, of: JsonObject = written): JsonObject => (isJsonObject(of[key]) ? of[key] : {});
  const [clusterUid, nodeId] = [
    text('clusterUid', '00000000-0000-4000-8000-000000000000'),
    text('nodeId', 'app-1'),
  ];
  const incarnation = typeof written['incarnation'] === 'number' ? written['incarnation'] : 1;
  const action = part('action', part('service'));
  const service = {
    name: typeof part('service')['name'] === 'string' ? (part('service')['name'] as string) : 'service',
    action: { type: plugin, fields: part('fields', action) },
  };
  const isProvider = isProviderAction(taskName);
  return {
    taskId: text(
      'taskId',
      taskId({
        clusterUid,
        nodeId,
        incarnation,
        action: taskName,
        operation: randomUUID(),
        service: isProvider ? undefined : service.name,
      }),
    ),
    taskName,
    clusterId: text('clusterId', 'try'),
    clusterUid,
    nodeId,
    incarnation,
    attempt: 1,
    config: {
      hostname: `try-${nodeId}`,
      ...part('config'),
      provider: { providertype: isProvider ? plugin : 'none' },
      ...(isProvider ? {} : { service }),
    },
    nodes: part('nodes') as unknown as Task['nodes'],
    cluster: part('cluster'),
    provider: { name: 'try', type: isProvider ? plugin : 'none', fields: part('fields', part('provider')) },
    service: isProvider || taskName === 'BOOTSTRAP' ? undefined : service,
    resources: isJsonObject(written['resources'])
      ? (part('resources') as unknown as NonNullable<Task['resources']>)
      : undefined,
  };
}

export function isProviderAction(action: AnyAction): boolean {
  return providerActions.some((one) => one === action);
}

/**
 * The task with its fields as the engine gives them to the plugin: checked before anything is called,
 * defaults filled in. Secrets stay references.
 * @throws ProblemsError with everything that is wrong.
 */
export function fillFields(task: Task, descriptor: Descriptor): Task {
  return isProviderAction(task.taskName) ? fillAccount(task, descriptor) : fillAction(task, descriptor);
}

/** The file combines the administrator's and the user's fields, as the plugin receives them. */
function fillAccount({ provider, ...task }: Task, descriptor: Descriptor): Task {
  const isUsers = ([key]: readonly [string, unknown]): boolean =>
    descriptor.fields !== undefined && Object.hasOwn(descriptor.fields.user, key);
  const given = Object.entries(provider.fields);
  const path = ['provider', 'fields'];
  const admin = checkFields(
    descriptor,
    'admin',
    Object.fromEntries(given.filter((entry) => !isUsers(entry))),
    path,
  );
  const user = checkFields(descriptor, 'user', Object.fromEntries(given.filter(isUsers)), path);
  refuse([...admin.problems, ...user.problems]);
  return { ...task, provider: { ...provider, fields: { ...admin.values, ...user.values } } };
}

/** A resource is given by its path, as the plugin receives it. */
function fillAction(task: Task, descriptor: Descriptor): Task {
  if (task.service === undefined) return task;
  const { name, action } = task.service;
  const given = Object.keys(task.resources ?? {}).filter((key) => action.fields[key] !== undefined);
  const stored = Object.fromEntries(given.map((key) => [key, { resource: key }]));
  const { problems, values } = checkFields(descriptor, 'user', { ...action.fields, ...stored }, [
    'service',
    'action',
    'fields',
  ]);
  refuse(problems);
  const paths = Object.fromEntries(
    given.flatMap((key) => (action.fields[key] === undefined ? [] : [[key, action.fields[key]]])),
  );
  const service = { name, action: { ...action, fields: { ...values, ...paths } } };
  return { ...task, service, config: { ...task.config, service } };
}

function refuse(problems: readonly Problem[]): void {
  if (hasErrors(problems)) throw new ProblemsError('The fields of this task are not valid:', problems);
}
