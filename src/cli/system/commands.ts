import { accountCommands } from '../account/commands.js';
import { choice, option, wholeNumber, yesOption, command, type CommandDefinition } from '../command.js';
import { pluginCommands } from '../plugin/commands.js';

const parse = wholeNumber('It is a number from 0 to 65535; 0 takes a free one.', 0, 65_535);

/** Commands about Heddle itself. */
export const systemCommands: readonly CommandDefinition[] = [
  command('dev', 'run everything on this machine', {
    heading: 'Heddle:',
    more: ': server, Web UI, machines and a worker, until it is stopped',
    options: [
      option('--port <number>', 'port of the Temporal server; a free one when it is in use', {
        parse,
        fallback: 7233,
      }),
      option('--ui-port <number>', "port of the Web UI (default: 1000 above the server's)", { parse }),
      choice('--machines <kind>', 'what local machines are', ['auto', 'sandbox', 'directory'], 'auto'),
    ],
    needs: 'configuration',
    load: async () => (await import('./dev.js')).dev,
  }),
  command('worker', 'run a worker until it is stopped', {
    load: async () => (await import('./worker.js')).worker,
  }),
  command('doctor', 'check the installation', {
    more: ': server, workers, keys, plugins and folders, and say what to do',
    load: async () => (await import('./doctor.js')).doctor,
  }),
  command('leaks', 'machines that no cluster has', {
    more: ', as the sweep saw them last',
    options: [
      option('--look', 'look now'),
      option('--delete <ids...>', 'delete these, whatever the configuration says'),
      yesOption,
    ],
    load: async () => (await import('./leaks.js')).leaks,
  }),
  command('replay [files...]', 'check that this build goes on with workflows', {
    more: ': exported histories, or all that run',
    options: [
      option('--all-running', 'replay what runs on the server now'),
      option('--bundle <file>', "a workflow bundle to replay with (default: this build's)"),
    ],
    load: async () => (await import('./replay.js')).replay,
  }),
  pluginCommands,
  accountCommands,
  command('keys', 'the keys that payloads are encrypted with', {
    commands: [
      command('create', 'make the first key of a new installation', {
        needs: 'configuration',
        load: async () => (await import('./keys.js')).create,
      }),
      command('list', 'list the keys, without what is secret', {
        needs: 'configuration',
        load: async () => (await import('./keys.js')).list,
      }),
      command('rotate', 'encrypt with a new key from now on', {
        options: [
          option('--stage', 'only add a key, so that it can be brought to everyone first'),
          option('--to <key>', 'encrypt with this key, which was added before'),
        ],
        needs: 'configuration',
        load: async () => (await import('./keys.js')).rotate,
      }),
      command('export [file]', 'write the keys to a file, or to a pipe', {
        needs: 'configuration',
        load: async () => (await import('./keys.js')).exportRing,
      }),
      command('import <file>', 'add exported keys; - reads standard input', {
        needs: 'configuration',
        load: async () => (await import('./keys.js')).importRing,
      }),
    ],
  }),
  command('server', 'the Temporal server', {
    commands: [
      command('setup', 'register the search attributes that Heddle uses', {
        load: async () => (await import('./server.js')).setup,
      }),
    ],
  }),
  command('config', 'the configuration', {
    commands: [
      command('show', 'what is configured, and where it came from', {
        load: async () => (await import('./config.js')).show,
      }),
    ],
  }),
];
