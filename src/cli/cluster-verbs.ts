import { Option, type Command } from 'commander';
import { withCommonOptions, withWait, type Run } from './options.js';

/** Verbs about clusters. */
export function addClusterVerbs(program: Command, run: Run): void {
  program.commandsGroup('Clusters:');
  const verb = (name: string, description: string): Command => program.command(name).description(description);

  withCommonOptions(withWait(verb('apply <file>', 'make the cluster of a file, or bring it to the file')
    .option('--create-only', 'refuse when the cluster is there already with another spec')), 'server')
    .action((file, options) => run(async () => {
      // A faulty file is told at once: what talks to a server is loaded after that.
      const { readSpec } = await import('./spec-file.js');
      const spec = readSpec(file);
      return (await import('./apply.js')).apply(spec, file, options);
    }));

  withCommonOptions(verb('plan <file>', 'show what an apply would do; nothing is changed')
    .addOption(new Option('--graph <form>', 'write the plan as a graph').choices(['mermaid', 'dot']))
    .option('--detailed-exitcode', '0: no changes, 1: error, 2: there are changes'), 'server')
    .action((file, options) => run(async () => (await import('./plan.js')).plan(file, options)));

  withCommonOptions(verb('list', 'list the clusters').alias('ls'), 'server')
    .action((options) => run(async () => (await import('./list.js')).list(options)));

  withCommonOptions(verb('status <name>', 'a cluster\'s phase, operation, nodes and failures')
    .option('-w, --watch', 'show the operation under way until it ends'), 'server')
    .action((name, options) => run(async () => (await import('./status.js')).status(name, options)));

  withCommonOptions(verb('nodes <name>', 'the nodes of a cluster'), 'server')
    .action((name, options) => run(async () => (await import('./status.js')).nodes(name, options)));

  withCommonOptions(verb('logs <name> [node]', 'what ran on the nodes of a cluster, and what it printed')
    .option('--service <name>', 'tasks of this service only')
    .option('--action <name>', 'this action only, such as INSTALL')
    .addOption(new Option('--level <level>', 'log lines of this level and above; output of scripts is info').choices(['debug', 'info', 'warn', 'error']).default('info'))
    .option('-f, --follow', 'go on as more is written'), 'server')
    .action((name, node, options) => run(async () => (await import('./logs.js')).logs(name, node, options)));

  withCommonOptions(verb('ssh <name> <node> [command...]', 'log in to a node, or run a command there: heddle ssh web app-1 -- uptime'), 'server')
    .action((name, node, command, options) => run(async () => (await import('./ssh.js')).ssh(name, node, command, options)));

  const task = verb('task', 'tasks of a cluster');
  withCommonOptions(task.command('show <name> <task>').description('a task\'s input, attempts, outcome and the end of its log; <task> is its id, or app-1/web/INSTALL'), 'server')
    .action((name, id, options) => run(async () => (await import('./task.js')).show(name, id, options)));

  withCommonOptions(withWait(verb('retry <name>', 'go on with a held operation from what failed')), 'server')
    .action((name, options) => run(async () => (await import('./apply.js')).retry(name, options)));

  withCommonOptions(withWait(verb('delete <name>', 'delete a cluster, whatever it is doing')), 'server')
    .action((name, options) => run(async () => (await import('./delete.js')).deleteCluster(name, options)));
}
