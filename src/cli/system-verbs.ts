import { InvalidArgumentError, Option, type Command } from 'commander';
import { addAccountVerbs } from './account/verbs.js';
import { withCommonOptions, type Run } from './options.js';
import { addPluginVerbs } from './plugin-verbs.js';

/** Verbs about Heddle itself. */
export function addSystemVerbs(program: Command, run: Run): void {
  program.commandsGroup('Heddle:');
  const verb = (name: string, summary: string, more = ''): Command =>
    program.command(name).summary(summary).description(`${summary}${more}`);

  withCommonOptions(
    verb(
      'dev',
      'run everything on this machine',
      ': server, Web UI, machines and a worker, until it is stopped',
    )
      .option('--port <number>', 'port of the Temporal server; a free one when it is in use', parsePort, 7233)
      .option('--ui-port <number>', "port of the Web UI (default: 1000 above the server's)", parsePort)
      .addOption(
        new Option('--machines <kind>', 'what local machines are')
          .choices(['auto', 'sandbox', 'directory'])
          .default('auto'),
      ),
    'configuration',
  ).action((options) => run(async () => (await import('./system/dev.js')).dev(options)));

  withCommonOptions(verb('worker', 'run a worker until it is stopped'), 'server').action((options) =>
    run(async () => (await import('./system/worker.js')).worker(options)),
  );

  withCommonOptions(
    verb(
      'doctor',
      'check the installation',
      ': server, workers, keys, plugins and folders, and say what to do',
    ),
    'server',
  ).action((options) => run(async () => (await import('./system/doctor.js')).doctor(options)));

  withCommonOptions(
    verb('leaks', 'machines that no cluster has', ', as the sweep saw them last')
      .option('--look', 'look now')
      .option('--delete <ids...>', 'delete these, whatever the configuration says')
      .option('-y, --yes', 'do not ask back'),
    'server',
  ).action((options) => run(async () => (await import('./look/leaks.js')).leaks(options)));

  withCommonOptions(
    verb(
      'replay [files...]',
      'check that this build goes on with workflows',
      ': exported histories, or all that run',
    )
      .option('--all-running', 'replay what runs on the server now')
      .option('--bundle <file>', "a workflow bundle to replay with (default: this build's)"),
    'server',
  ).action((files, options) => run(async () => (await import('./system/replay.js')).replay(files, options)));

  addPluginVerbs(program, run);
  addAccountVerbs(program, run);

  const keys = verb('keys', 'the keys that payloads are encrypted with');
  withCommonOptions(
    keys.command('create').description('make the first key of a new installation'),
    'configuration',
  ).action((options) => run(async () => (await import('./system/keys.js')).create(options)));
  withCommonOptions(
    keys.command('list').description('list the keys, without what is secret'),
    'configuration',
  ).action((options) => run(async () => (await import('./system/keys.js')).list(options)));
  withCommonOptions(
    keys
      .command('rotate')
      .description('encrypt with a new key from now on')
      .option('--stage', 'only add a key, so that it can be brought to everyone first')
      .option('--to <key>', 'encrypt with this key, which was added before'),
    'configuration',
  ).action((options) => run(async () => (await import('./system/keys.js')).rotate(options)));
  withCommonOptions(
    keys.command('export [file]').description('write the keys to a file, or to a pipe'),
    'configuration',
  ).action((file, options) => run(async () => (await import('./system/keys.js')).exportRing(file, options)));
  withCommonOptions(
    keys.command('import <file>').description('add exported keys; - reads standard input'),
    'configuration',
  ).action((file, options) => run(async () => (await import('./system/keys.js')).importRing(file, options)));

  const server = verb('server', 'the Temporal server');
  withCommonOptions(
    server.command('setup').description('register the search attributes that Heddle uses'),
    'server',
  ).action((options) => run(async () => (await import('./system/server.js')).setup(options)));

  const config = verb('config', 'the configuration');
  withCommonOptions(
    config.command('show').description('what is configured, and where it came from'),
    'server',
  ).action((options) => run(async () => (await import('./system/config.js')).show(options)));
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('It is a number from 0 to 65535; 0 takes a free one.');
}
