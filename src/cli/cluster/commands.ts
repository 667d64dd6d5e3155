import { loggedActions } from '../../model/logged-actions.js';
import {
  acceptMinimumOption,
  argument,
  choice,
  nodesOption,
  operationOptions,
  option,
  labelOption,
  parser,
  planOptions,
  rollingOption,
  scopeOptions,
  selectionOptions,
  variableOptions,
  verboseOption,
  timedOperationOptions,
  waitOptions,
  yesOption,
  command,
  type CommandDefinition,
  durationMs,
  wholeNumber,
} from '../command.js';

const parseAction = parser(`It must be one of ${loggedActions.join(', ')}.`, (text) => {
  const action = text.toUpperCase();
  return loggedActions.includes(action) ? action : undefined;
});

const clusterFile = argument('<file>', 'the cluster file');

const parseRevision = wholeNumber('It must be the number of a revision.', 1);

const ofLabelOption = labelOption('clusters with this label only');

export const clusterCommands: readonly CommandDefinition[] = [
  command('apply', 'create or change a cluster from its file', {
    arguments: [argument('<file>', 'the cluster file, or a saved plan')],
    examples: [
      'heddle apply cluster.yaml',
      'heddle apply cluster.yaml --var size=3 --plan',
      'heddle apply cluster.plan',
    ],
    more: ', or carry out a plan that `plan --out` saved; asks for confirmation if machines will be lost',
    heading: 'Clusters:',
    options: [
      option('--create-only', 'refuse if the cluster exists with another spec'),
      ...variableOptions,
      ...scopeOptions,
      rollingOption,
      acceptMinimumOption,
      yesOption,
      ...operationOptions,
    ],
    json: ['operation', 'plan'],
    load: async () => {
      // A wrong file is reported before the modules for the server are loaded.
      const { readSpec } = await import('../spec-file.js');
      const { readSavedPlan } = await import('./plan/saved-plan.js');
      return async (file: string, options: object) => {
        const saved = await readSavedPlan(file, options);
        if (saved !== undefined)
          return (await import('./apply.js')).applySaved(saved, file, options as never);
        const spec = await readSpec(file, options);
        return (await import('./apply.js')).apply(spec, file, options as never);
      };
    },
  }),
  command('plan', 'show what apply would do', {
    arguments: [clusterFile],
    examples: ['heddle plan cluster.yaml'],
    more: '; changes nothing',
    options: [
      ...variableOptions,
      ...scopeOptions,
      rollingOption,
      verboseOption,
      choice('--graph <form>', 'write the plan as a graph', ['mermaid', 'dot']),
      option('--no-probe', 'use the recorded state of the machines, without probing them first'),
      option('--out <path>', 'save the plan, for heddle apply'),
      option('--detailed-exitcode', '0: no changes, 1: error, 2: there are changes'),
    ],
    json: ['plan'],
    load: async () => (await import('./plan/plan.js')).plan,
  }),
  command('validate', 'check a cluster, image or pools file', {
    arguments: [argument('<file>', 'the file')],
    examples: ['heddle validate cluster.yaml'],
    more: ', without a server; workers check accounts and fields of plugins',
    needs: 'configuration',
    options: variableOptions,
    json: ['validate'],
    load: async () => (await import('./validate.js')).validate,
  }),
  command('delete <cluster>', 'delete a cluster in any state', {
    examples: ['heddle delete web'],
    more: ', with its machines and their disks; asks for confirmation',
    options: [yesOption, ...waitOptions, ...planOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./apply.js')).deleteCluster,
  }),
  command('list', 'list clusters', {
    examples: ['heddle list', 'heddle list --label team=web'],
    heading: 'Inspect:',
    alias: 'ls',
    options: [ofLabelOption],
    json: ['list'],
    load: async () => (await import('./list.js')).list,
  }),
  command('status <cluster>', 'show the state of a cluster, its problems and the next step', {
    examples: ['heddle status web', 'heddle status web --watch'],
    options: [
      option('-w, --watch', 'show the running operation until it ends'),
      option('--probe', 'probe machines and services first'),
    ],
    json: ['status', 'status-watch'],
    load: async () => (await import('./status.js')).status,
  }),
  command('nodes <cluster>', 'list the nodes of a cluster', {
    examples: ['heddle nodes web'],
    json: ['nodes'],
    load: async () => (await import('./list.js')).nodes,
  }),
  command('history <cluster>', 'list the last operations and revisions of a cluster', {
    examples: ['heddle history web'],
    more: '; each accepted change of its file is a revision',
    json: ['history'],
    load: async () => (await import('./list.js')).history,
  }),
  command('diff <cluster>', 'show what differs between revisions of a cluster', {
    examples: ['heddle diff web', 'heddle diff web 2 3'],
    arguments: [
      argument('[from]', 'number of a revision (default: the previous one)', parseRevision),
      argument('[to]', 'number of a revision (default: the present state)', parseRevision),
    ],
    json: ['diff'],
    load: async () => (await import('./revisions.js')).diff,
  }),
  command('get <cluster>', 'print the file of a cluster as it was applied', {
    examples: ['heddle get web', 'heddle get web --revision 3'],
    more: ', in its normalised form; values of secret variables are left out',
    options: [
      option('--revision <number>', 'of this revision; default: the newest', { parse: parseRevision }),
    ],
    json: ['get'],
    load: async () => (await import('./revisions.js')).get,
  }),
  command('output <cluster> [output]', 'show the outputs of a cluster, or the value of one', {
    page: 'reference/variables.md',
    examples: ['heddle output web', 'heddle output web url'],
    more: '; secret values only if they are named',
    json: ['output'],
    load: async () => (await import('./outputs.js')).output,
  }),
  command('logs <cluster>', 'show the logs of tasks, or of a service on its nodes', {
    arguments: [argument('[node]', 'name of the node (default: all)')],
    examples: [
      'heddle logs web app-1 --action INSTALL',
      'heddle logs web --since 10m --follow',
      'heddle logs web --service app --source service -f',
    ],
    options: [
      option('--service <service>', 'of this service only'),
      choice(
        '--source <source>',
        'tasks: what tasks logged; service: what the service writes on its nodes, by logs in the file',
        ['tasks', 'service'],
        'tasks',
      ),
      ...selectionOptions,
      option('--action <action>', 'this action only, such as INSTALL', { parse: parseAction }),
      choice(
        '--level <level>',
        'log lines of this level and above (default: info, the level of script output)',
        ['debug', 'info', 'warn', 'error'],
      ),
      option('--operation <id>', 'tasks of this operation only'),
      option('--since <duration>', 'only what was logged within this time, such as 10m or 2h', {
        parse: durationMs('Write it as 30s, 10m or 2h, at most 30 days.'),
      }),
      option('--tail <number>', 'only this many lines, counted from the end', {
        parse: wholeNumber('It must be a number of lines from 1 to 1,000,000.', 1, 1_000_000),
      }),
      option('-f, --follow', 'continue with new output'),
    ],
    json: ['logs'],
    load: async () => (await import('./log/logs.js')).logs,
  }),
  command('ssh <cluster> <node> [command...]', 'log in to a node, or run a command there', {
    examples: ['heddle ssh web app-1 -- uptime'],
    json: [],
    load: async () => (await import('./ssh.js')).ssh,
  }),
  command('cp <source> <target>', 'copy files from a node, or to one', {
    examples: ['heddle cp web:app-1:/var/log/app.log .'],
    options: [option('--sudo', 'as root on the node')],
    json: ['copy'],
    load: async () => (await import('./copy/copy.js')).cp,
  }),
  command('task', 'tasks of a cluster', {
    commands: [
      command('show <cluster> <task>', 'show a task: its input, attempts, outcome and the end of its log', {
        examples: ['heddle task show web app-1/app/START'],
        json: ['task'],
        load: async () => (await import('./task/task.js')).show,
      }),
    ],
  }),
  command('start <cluster> <services...>', 'start services and their dependencies', {
    examples: ['heddle start web app'],
    heading: 'Services and nodes:',
    options: operationOptions,
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).start,
  }),
  command('stop <cluster> <services...>', 'stop services and their dependents', {
    examples: ['heddle stop web app --plan'],
    more: '; they stay stopped until they are started, also when the cluster is applied',
    options: operationOptions,
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).stop,
  }),
  command('restart <cluster> <services...>', 'stop and start services', {
    examples: ['heddle restart web app --rolling 1'],
    more: ', and their dependents; with --rolling, only the services themselves',
    options: [nodesOption, rollingOption, ...operationOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).restart,
  }),
  command('reconfigure <cluster>', 'configure services again', {
    arguments: [argument('[services...]', 'names of the services (default: all)')],
    examples: ['heddle reconfigure web', 'heddle reconfigure web app --restart'],
    options: [option('--restart', 'also restart them'), nodesOption, rollingOption, ...operationOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).reconfigure,
  }),
  command('scale <cluster>', 'change the number of nodes of groups', {
    arguments: [argument('<counts...>', 'GROUP=COUNT, or GROUP=file for the count in the file')],
    more: ', and bring the cluster to its file with these counts; they override the file until it has the same; asks for confirmation if machines will be lost',
    examples: ['heddle scale web app=5', 'heddle scale web app=file'],
    options: [rollingOption, acceptMinimumOption, yesOption, ...operationOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).scale,
  }),
  command('replace <cluster> <nodes...>', 'give nodes new machines', {
    examples: ['heddle replace web app-2'],
    more: '; asks for confirmation',
    options: [rollingOption, yesOption, ...operationOptions],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).replace,
  }),
  command('exec <cluster> <command...>', 'run a command once on each node', {
    examples: ['heddle exec web -- uptime', "heddle exec web --services app 'df -h | tail -1'"],
    options: [
      option('--sudo', 'as root'),
      option('--timeout <duration>', 'time limit per node, such as 30s or 10m'),
      ...selectionOptions,
      rollingOption,
      ...timedOperationOptions,
    ],
    json: ['exec', 'operation', 'plan'],
    load: async () => (await import('./exec.js')).exec,
  }),
  command('retry <cluster>', 'continue a held operation after a failure', {
    examples: ['heddle retry web'],
    heading: 'Operations:',
    options: [acceptMinimumOption, ...waitOptions],
    json: ['operation'],
    load: async () => (await import('./control.js')).retry,
  }),
  command('rollback <cluster>', 'return to the previous spec, or to a revision', {
    examples: ['heddle rollback web --plan', 'heddle rollback web --to 3'],
    more: '; asks for confirmation if machines will be lost',
    options: [
      option('--to <number>', 'number of the revision', { parse: parseRevision }),
      acceptMinimumOption,
      yesOption,
      ...operationOptions,
    ],
    json: ['operation', 'plan'],
    load: async () => (await import('./operate.js')).rollback,
  }),
  command('cancel <cluster>', 'cancel an operation; completed work stays', {
    arguments: [argument('[operation]', 'its number (default: the running or held one)')],
    examples: ['heddle cancel web', 'heddle cancel web 7'],
    options: waitOptions,
    json: ['operation'],
    load: async () => (await import('./control.js')).cancel,
  }),
  command('pause <cluster>', 'start no further task of a cluster until resume', {
    examples: ['heddle pause web'],
    more: '; running tasks finish',
    json: ['operation'],
    load: async () => (await import('./control.js')).pause,
  }),
  command('resume <cluster>', 'continue after a pause', {
    examples: ['heddle resume web'],
    options: [acceptMinimumOption, ...waitOptions],
    json: ['operation'],
    load: async () => (await import('./control.js')).resume,
  }),
  command('abandon <cluster> <node>', 'forget a node that cannot be deleted', {
    examples: ['heddle abandon web app-2'],
    more: '; its machine stays, and is recorded as abandoned',
    options: [yesOption, ...waitOptions],
    json: ['operation'],
    load: async () => (await import('./control.js')).abandon,
  }),
];
