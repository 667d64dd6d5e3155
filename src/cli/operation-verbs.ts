import type { Command } from 'commander';
import { withCommonOptions, withNodes, withOperation, withRolling, withWait, type Run } from './options.js';

/** Verbs that do something with the services and nodes that are there. */
export function addOperationVerbs(program: Command, run: Run): void {
  program.commandsGroup('Services and nodes:');
  const verb = (name: string, summary: string, more = ''): Command =>
    program.command(name).summary(summary).description(`${summary}${more}`);
  const server = (command: Command): Command => withCommonOptions(command, 'server');

  server(withOperation(verb('start <name> <services...>', 'start services, and what they need'))).action(
    (name, services, options) =>
      run(async () =>
        (await import('./operate/operate.js')).operate(name, { kind: 'start', services }, options),
      ),
  );

  server(
    withOperation(
      verb(
        'stop <name> <services...>',
        'stop services, and what needs them',
        '; they stay so, also through later applies, until they are started',
      ),
    ),
  ).action((name, services, options) =>
    run(async () =>
      (await import('./operate/operate.js')).operate(name, { kind: 'stop', services }, options),
    ),
  );

  server(
    withOperation(
      withRolling(
        withNodes(
          verb(
            'restart <name> <services...>',
            'stop and start services',
            ', and what needs them; rolling, the services alone',
          ),
        ),
      ),
    ),
  ).action((name, services, options) =>
    run(async () => (await import('./operate/operate.js')).restart(name, services, options)),
  );

  server(
    withOperation(
      withRolling(
        withNodes(
          verb(
            'reconfigure <name> [services...]',
            'configure services anew',
            '; all unless some are named',
          ).option('--restart', 'stop them before, and start them after'),
        ),
      ),
    ),
  ).action((name, services, options) =>
    run(async () => (await import('./operate/operate.js')).reconfigure(name, services, options)),
  );

  server(withOperation(withRolling(verb('replace <name> <nodes...>', 'give nodes new machines')))).action(
    (name, nodes, options) =>
      run(async () => (await import('./operate/operate.js')).replace(name, nodes, options)),
  );

  server(
    withOperation(
      withRolling(
        withNodes(
          verb('exec <name> <command...>', 'run a command once on each node', ': heddle exec web -- uptime')
            .option('--sudo', 'as root')
            .option('--timeout <duration>', 'longest time on a node, such as 30s or 10m'),
        ),
      ),
    ),
  ).action((name, command, options) =>
    run(async () => (await import('./operate/exec.js')).exec(name, command, options)),
  );

  program.commandsGroup('Operations:');

  server(withWait(verb('retry <name>', 'go on from what failed', ' in a held operation'))).action(
    (name, options) => run(async () => (await import('./operate/controls.js')).retry(name, options)),
  );

  server(withOperation(verb('rollback <name>', 'go back to the spec before the last one'))).action(
    (name, options) =>
      run(async () => (await import('./operate/operate.js')).operate(name, { kind: 'rollback' }, options)),
  );

  server(
    withWait(
      verb(
        'cancel <name> [operation]',
        'end an operation; what was done stays',
        '; the one under way or held, unless another is named',
      ),
    ),
  ).action((name, operation, options) =>
    run(async () => (await import('./operate/controls.js')).cancel(name, operation, options)),
  );

  server(verb('pause <name>', 'start nothing more until resume', '; what runs goes on to its end')).action(
    (name, options) => run(async () => (await import('./operate/controls.js')).pause(name, options)),
  );

  server(withWait(verb('resume <name>', 'go on after pause'))).action((name, options) =>
    run(async () => (await import('./operate/controls.js')).resume(name, options)),
  );

  server(
    withWait(
      verb(
        'abandon <name> <node>',
        'forget a node that cannot be deleted',
        '; its machine stays, and is recorded as given up',
      ).option('-y, --yes', 'do not ask back'),
    ),
  ).action((name, node, options) =>
    run(async () => (await import('./operate/controls.js')).abandon(name, node, options)),
  );
}
