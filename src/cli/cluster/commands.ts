import {
  choice,
  nodesOption,
  operationOptions,
  option,
  planOption,
  rollingOption,
  waitOptions,
  yesOption,
  command,
  type CommandDefinition,
} from '../command.js';

export const clusterCommands: readonly CommandDefinition[] = [
  command('apply <file>', 'make a cluster from its file, or change it', {
    heading: 'Clusters:',
    options: [
      option('--create-only', 'refuse when the cluster is there already with another spec'),
      rollingOption,
      ...operationOptions,
    ],
    load: async () => {
      // A wrong file is reported before the modules for the server are loaded.
      const { readSpec } = await import('../spec-file.js');
      return async (file: string, options: object) => {
        const spec = readSpec(file);
        return (await import('./apply.js')).apply(spec, file, options as never);
      };
    },
  }),
  command('plan <file>', 'show what apply would do', {
    more: '; nothing is changed',
    options: [
      rollingOption,
      choice('--graph <form>', 'write the plan as a graph', ['mermaid', 'dot']),
      option('--no-look', 'go by what is known of the machines, without looking at them first'),
      option('--detailed-exitcode', '0: no changes, 1: error, 2: there are changes'),
    ],
    load: async () => (await import('./plan/plan.js')).plan,
  }),
  command('delete <name>', 'delete a cluster, whatever it is doing', {
    options: [...waitOptions, planOption],
    load: async () => (await import('./apply.js')).deleteCluster,
  }),
  command('list', 'the clusters', {
    heading: 'Look:',
    alias: 'ls',
    load: async () => (await import('./list.js')).list,
  }),
  command('status <name>', 'where it stands, what is wrong, what to do', {
    options: [
      option('-w, --watch', 'show the operation under way until it ends'),
      option('--look', 'look at its machines and services first'),
    ],
    load: async () => (await import('./status.js')).status,
  }),
  command('nodes <name>', 'its nodes', { load: async () => (await import('./list.js')).nodes }),
  command('history <name>', 'its last operations', {
    more: ': what, who, when, and how they ended',
    load: async () => (await import('./list.js')).history,
  }),
  command('logs <name> [node]', 'what ran on its nodes, and what it printed', {
    options: [
      option('--service <name>', 'tasks of this service only'),
      option('--action <name>', 'this action only, such as INSTALL'),
      choice(
        '--level <level>',
        'log lines of this level and above; output of scripts is info',
        ['debug', 'info', 'warn', 'error'],
        'info',
      ),
      option('-f, --follow', 'go on as more is written'),
    ],
    load: async () => (await import('./log/logs.js')).logs,
  }),
  command('ssh <name> <node> [command...]', 'log in to a node, or run a command there', {
    more: ': heddle ssh web app-1 -- uptime',
    load: async () => (await import('./ssh.js')).ssh,
  }),
  command('task', 'one of its tasks', {
    commands: [
      command(
        'show <name> <task>',
        "a task's input, attempts, outcome and the end of its log; <task> is its id, or app-1/web/INSTALL",
        { load: async () => (await import('./task/task.js')).show },
      ),
    ],
  }),
  command('start <name> <services...>', 'start services, and what they need', {
    heading: 'Services and nodes:',
    options: operationOptions,
    load: async () => (await import('./operate.js')).start,
  }),
  command('stop <name> <services...>', 'stop services, and what needs them', {
    more: '; they stay so, also through later applies, until they are started',
    options: operationOptions,
    load: async () => (await import('./operate.js')).stop,
  }),
  command('restart <name> <services...>', 'stop and start services', {
    more: ', and what needs them; rolling, the services alone',
    options: [nodesOption, rollingOption, ...operationOptions],
    load: async () => (await import('./operate.js')).restart,
  }),
  command('reconfigure <name> [services...]', 'configure services anew', {
    more: '; all unless some are named',
    options: [
      option('--restart', 'stop them before, and start them after'),
      nodesOption,
      rollingOption,
      ...operationOptions,
    ],
    load: async () => (await import('./operate.js')).reconfigure,
  }),
  command('replace <name> <nodes...>', 'give nodes new machines', {
    options: [rollingOption, ...operationOptions],
    load: async () => (await import('./operate.js')).replace,
  }),
  command('exec <name> <command...>', 'run a command once on each node', {
    more: ': heddle exec web -- uptime',
    options: [
      option('--sudo', 'as root'),
      option('--timeout <duration>', 'longest time on a node, such as 30s or 10m'),
      nodesOption,
      rollingOption,
      ...operationOptions,
    ],
    load: async () => (await import('./exec.js')).exec,
  }),
  command('retry <name>', 'go on from what failed', {
    heading: 'Operations:',
    more: ' in a held operation',
    options: waitOptions,
    load: async () => (await import('./control.js')).retry,
  }),
  command('rollback <name>', 'go back to the spec before the last one', {
    options: operationOptions,
    load: async () => (await import('./operate.js')).rollback,
  }),
  command('cancel <name> [operation]', 'end an operation; what was done stays', {
    more: '; the one under way or held, unless another is named',
    options: waitOptions,
    load: async () => (await import('./control.js')).cancel,
  }),
  command('pause <name>', 'start nothing more until resume', {
    more: '; what runs goes on to its end',
    load: async () => (await import('./control.js')).pause,
  }),
  command('resume <name>', 'go on after pause', {
    options: waitOptions,
    load: async () => (await import('./control.js')).resume,
  }),
  command('abandon <name> <node>', 'forget a node that cannot be deleted', {
    more: '; its machine stays, and is recorded as given up',
    options: [yesOption, ...waitOptions],
    load: async () => (await import('./control.js')).abandon,
  }),
];
