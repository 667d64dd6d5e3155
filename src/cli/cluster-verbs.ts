import { Option, type Command } from 'commander';
import { withCommonOptions, withOperation, withRolling, withWait, type Run } from './options.js';

/** Verbs about whole clusters, and about what there is to see of them. */
export function addClusterVerbs(program: Command, run: Run): void {
  program.commandsGroup('Clusters:');
  const verb = (name: string, summary: string, more = ''): Command =>
    program.command(name).summary(summary).description(`${summary}${more}`);
  const server = (command: Command): Command => withCommonOptions(command, 'server');

  server(
    withOperation(
      withRolling(
        verb('apply <file>', 'make a cluster from its file, or change it').option(
          '--create-only',
          'refuse when the cluster is there already with another spec',
        ),
      ),
    ),
  ).action((file, options) =>
    run(async () => {
      // A faulty file is told at once: what talks to a server is loaded after that.
      const { readSpec } = await import('./spec-file.js');
      const spec = readSpec(file);
      return (await import('./operate/apply.js')).apply(spec, file, options);
    }),
  );

  server(
    withRolling(verb('plan <file>', 'show what apply would do', '; nothing is changed'))
      .addOption(new Option('--graph <form>', 'write the plan as a graph').choices(['mermaid', 'dot']))
      .option('--no-look', 'go by what is known of the machines, without looking at them first')
      .option('--detailed-exitcode', '0: no changes, 1: error, 2: there are changes'),
  ).action((file, options) => run(async () => (await import('./plan/plan.js')).plan(file, options)));

  server(
    withWait(verb('delete <name>', 'delete a cluster, whatever it is doing')).option(
      '--plan',
      'only show what would be done; nothing is changed',
    ),
  ).action((name, options) =>
    run(async () => (await import('./operate/delete.js')).deleteCluster(name, options)),
  );

  program.commandsGroup('Look:');

  server(verb('list', 'the clusters').alias('ls')).action((options) =>
    run(async () => (await import('./look/list.js')).list(options)),
  );

  server(
    verb('status <name>', 'where it stands, what is wrong, what to do')
      .option('-w, --watch', 'show the operation under way until it ends')
      .option('--look', 'look at its machines and services first'),
  ).action((name, options) => run(async () => (await import('./look/status.js')).status(name, options)));

  server(verb('nodes <name>', 'its nodes')).action((name, options) =>
    run(async () => (await import('./look/status.js')).nodes(name, options)),
  );

  server(verb('history <name>', 'its last operations', ': what, who, when, and how they ended')).action(
    (name, options) => run(async () => (await import('./look/history.js')).history(name, options)),
  );

  server(
    verb('logs <name> [node]', 'what ran on its nodes, and what it printed')
      .option('--service <name>', 'tasks of this service only')
      .option('--action <name>', 'this action only, such as INSTALL')
      .addOption(
        new Option('--level <level>', 'log lines of this level and above; output of scripts is info')
          .choices(['debug', 'info', 'warn', 'error'])
          .default('info'),
      )
      .option('-f, --follow', 'go on as more is written'),
  ).action((name, node, options) =>
    run(async () => (await import('./look/logs.js')).logs(name, node, options)),
  );

  server(
    verb(
      'ssh <name> <node> [command...]',
      'log in to a node, or run a command there',
      ': heddle ssh web app-1 -- uptime',
    ),
  ).action((name, node, command, options) =>
    run(async () => (await import('./look/ssh.js')).ssh(name, node, command, options)),
  );

  const task = verb('task', 'one of its tasks');
  server(
    task
      .command('show <name> <task>')
      .description(
        "a task's input, attempts, outcome and the end of its log; <task> is its id, or app-1/web/INSTALL",
      ),
  ).action((name, id, options) => run(async () => (await import('./look/task.js')).show(name, id, options)));
}
