import { actions } from '../../model/action.js';
import { machineActions } from '../../model/machine/actions.js';
import {
  acceptMinimumOption,
  choice,
  nodesOption,
  operationOptions,
  option,
  labelOption,
  parser,
  planOption,
  rollingOption,
  scopeOptions,
  variableOptions,
  timedOperationOptions,
  waitOptions,
  yesOption,
  command,
  type CommandDefinition,
  durationMs,
  wholeNumber,
} from '../command.js';

const loggedActions: readonly string[] = [...actions, ...machineActions];

const parseAction = parser(`It must be one of ${loggedActions.join(', ')}.`, (text) => {
  const action = text.toUpperCase();
  return loggedActions.includes(action) ? action : undefined;
});

const ofLabelOption = labelOption('clusters with this label only');

export const clusterCommands: readonly CommandDefinition[] = [
  command('apply <file>', 'create or change a cluster from its file', {
    heading: 'Clusters:',
    options: [
      option('--create-only', 'refuse if the cluster exists with another spec'),
      ...variableOptions,
      ...scopeOptions,
      rollingOption,
      acceptMinimumOption,
      ...operationOptions,
    ],
    json: ['operation', 'plan'],
    load: async () => {
      // A wrong file is reported before the modules for the server are loaded.
      const { readSpec } = await import('../spec-file.js');
      return async (file: string, options: object) => {
        const spec = await readSpec(file, options);
        return (await import('./apply.js')).apply(spec, file, options as never);
      };
    },
  }),
  command('plan <file>', 'show what apply would do', {
    more: '; changes nothing',
    options: [
      ...variableOptions,
      ...scopeOptions,
      rollingOption,
      choice('--graph <form>', 'write the plan as a graph', ['mermaid', 'dot']),
      option('--no-probe', 'use the recorded state of the machines, without probing them first'),
      option('--detailed-exitcode', '0: no changes, 1: error, 2: there are changes'),
    ],
    json: ['plan'],
    load: async () => (await import('./plan/plan.js')).plan,
  }),
  command('validate <file>', 'check a cluster, image or pools file', {
    more: ', without a server; workers check accounts and fields of plugins',
    needs: 'configuration',
    options: variableOptions,
    json: ['validate'],
    load: async () => (await import('./validate.js')).validate,
  }),
  command('delete <cluster>', 'delete a cluster in any state', {
    more: ', with its machines and their disks; asks for confirmation',
    options: [yesOption, ...waitOptions, planOption],
    json: ['operation', 'plan'],
    load: async () => (await import('./apply.js')).deleteCluster,
  }),
  command('list', 'list clusters', {
    heading: 'Inspect:',
    alias: 'ls',
    options: [ofLabelOption],
    json: ['list'],
    load: async () => (await import('./list.js')).list,
  }),
  command('status <cluster>', 'show the state of a cluster, its problems and the next step', {
    options: [
      option('-w, --watch', 'show the running operation until it ends'),
      option('--probe', 'probe machines and services first'),
    ],
    json: ['status', 'status-watch'],
    load: async () => (await import('./status.js')).status,
  }),
  command('nodes <cluster>', 'list the nodes of a cluster', {
    json: ['nodes'],
    load: async () => (await import('./list.js')).nodes,
  }),
  command('history <cluster>', 'list the last operations of a cluster', {
    more: ': intent, user, time and result',
    json: ['history'],
    load: async () => (await import('./list.js')).history,
  }),
  command('output <cluster> [output]', 'show the outputs of a cluster, or the value of one', {
    more: '; secret values only if they are named',
    json: ['output'],
    load: async () => (await import('./outputs.js')).output,
  }),
  command('logs <cluster> [node]', 'show the logs of tasks', {
    options: [
      option('--service <service>', 'tasks of this service only'),
      option('--action <action>', 'this action only, such as INSTALL', { parse: parseAction }),
      choice(
        '--level <level>',
        'log lines of this level and above; output of scripts is info',
        ['debug', 'info', 'warn', 'error'],
        'info',
      ),
      option('--operation <id>', 'tasks of this operation only'),
      option('--since <duration>', 'only what was logged within this time, such as 10m or 2h', {
        parse: durationMs('Write it as 30s, 10m or 2h, at most 30 days.'),
      }),
      option('--tail <number>', 'only this many lines, counted from the end', {
        parse: wholeNumber('It must be a number of lines.', 1, 1_000_000),
      }),
      option('-f, --follow', 'continue with new output'),
    ],
    json: ['logs'],
    load: async () => (await import('./log/logs.js')).logs,
  }),
  command('ssh <cluster> <node> [command...]', 'log in to a node, or run a command there', {
    example: 'heddle ssh web app-1 -- uptime',
    json: [],
    load: async () => (await import('./ssh.js')).ssh,
  }),
  command('task', 'tasks of a cluster', {
    commands: [
      command('show <cluster> <task>', 'show a task: its input, attempts, outcome and the end of its log', {
        more: '; TASK is its id, or NODE/SERVICE/ACTION such as app-1/web/INSTALL',
        json: ['task'],
        load: async () => (await import('./task/task.js')).show,
      }),
    ],
  }),
  command('start <cluster> <services...>', 'start services and their dependencies', {
    heading: 'Services and nodes:',
    options: operationOptions,
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).start,
  }),
  command('stop <cluster> <services...>', 'stop services and their dependents', {
    more: '; they stay stopped until they are started, also when the cluster is applied',
    options: operationOptions,
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).stop,
  }),
  command('restart <cluster> <services...>', 'stop and start services', {
    more: ', and their dependents; with --rolling, only the services themselves',
    options: [nodesOption, rollingOption, ...operationOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).restart,
  }),
  command('reconfigure <cluster> [services...]', 'configure services again', {
    more: '; all by default',
    options: [option('--restart', 'also restart them'), nodesOption, rollingOption, ...operationOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).reconfigure,
  }),
  command('replace <cluster> <nodes...>', 'give nodes new machines', {
    options: [rollingOption, ...operationOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).replace,
  }),
  command('exec <cluster> <command...>', 'run a command once on each node', {
    example: 'heddle exec web -- uptime',
    options: [
      option('--sudo', 'as root'),
      option('--timeout <duration>', 'time limit per node, such as 30s or 10m'),
      nodesOption,
      rollingOption,
      ...timedOperationOptions,
    ],
    json: ['exec', 'operation', 'plan'],
    load: async () => (await import('./exec.js')).exec,
  }),
  command('retry <cluster>', 'continue a held operation after a failure', {
    heading: 'Operations:',
    options: [acceptMinimumOption, ...waitOptions],
    json: ['operation'],
    load: async () => (await import('./control.js')).retry,
  }),
  command('rollback <cluster>', 'return to the previous spec', {
    options: [acceptMinimumOption, ...operationOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).rollback,
  }),
  command('cancel <cluster> [operation]', 'cancel an operation; completed work stays', {
    more: '; the running or held one by default',
    options: waitOptions,
    json: ['operation'],
    load: async () => (await import('./control.js')).cancel,
  }),
  command('pause <cluster>', 'start no further task of a cluster until resume', {
    more: '; running tasks finish',
    json: ['operation'],
    load: async () => (await import('./control.js')).pause,
  }),
  command('resume <cluster>', 'continue after a pause', {
    options: [acceptMinimumOption, ...waitOptions],
    json: ['operation'],
    load: async () => (await import('./control.js')).resume,
  }),
  command('abandon <cluster> <node>', 'forget a node that cannot be deleted', {
    more: '; its machine stays, and is recorded as abandoned',
    options: [yesOption, ...waitOptions],
    json: ['operation'],
    load: async () => (await import('./control.js')).abandon,
  }),
];
