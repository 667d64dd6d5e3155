import { accountCommands } from '../account/commands.js';
import { choice, option, wholeNumber, yesOption, command, type CommandDefinition } from '../command.js';
import { pluginCommands } from '../plugin/commands.js';

const parse = wholeNumber('It must be a number from 0 to 65535; 0 selects a free port.', 0, 65_535);

/** Commands about Heddle itself. */
export const systemCommands: readonly CommandDefinition[] = [
  command('dev', 'run everything on this machine', {
    heading: 'Heddle:',
    more: ': server, Web UI, machines and a worker, until Ctrl-C',
    options: [
      option('--port <number>', 'port of the Temporal server; a free one if it is in use', {
        parse,
        fallback: 7233,
      }),
      option('--ui-port <number>', "port of the Web UI (default: 1000 above the server's)", { parse }),
      choice('--machines <kind>', 'kind of local machines', ['auto', 'sandbox', 'directory'], 'auto'),
    ],
    needs: 'configuration',
    json: ['dev'],
    load: async () => (await import('./dev.js')).dev,
  }),
  command('worker', 'run a worker until Ctrl-C', {
    json: [],
    load: async () => (await import('./worker.js')).worker,
  }),
  command('doctor', 'check the installation', {
    more: ': server, workers, keys, plugins and folders',
    json: ['doctor'],
    load: async () => (await import('./doctor.js')).doctor,
  }),
  command('leaks', 'list orphaned machines', {
    more: ', as of the last sweep',
    options: [
      option('--sweep', 'run a sweep now'),
      option('--delete <ids...>', 'delete these, even in a dry run'),
      option('--resume', 'let sweeps delete again after a backup of the database was restored'),
      yesOption,
    ],
    json: ['leaks'],
    load: async () => (await import('./leaks.js')).leaks,
  }),
  command('recover <workflow>', 'continue a workflow whose tasks fail', {
    more: ': reset it to the end of its last good task; WORKFLOW is a cluster, or pool/NAME, machine/NAME or image/NAME',
    json: ['recover'],
    load: async () => (await import('./recover.js')).recover,
  }),
  command('replay [files...]', 'check that this build can continue workflows', {
    more: ': exported histories, or all running ones',
    options: [
      option('--all-running', 'replay all running workflows of the server'),
      option('--bundle <file>', "a workflow bundle to replay with (default: this build's)"),
    ],
    json: ['replay'],
    load: async () => (await import('./replay.js')).replay,
  }),
  pluginCommands,
  accountCommands,
  command('keys', 'manage the encryption keys', {
    commands: [
      command('create', 'create the first key of a new installation', {
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).create,
      }),
      command('list', 'list the keys and what needs them, without secrets', {
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).list,
      }),
      command('rotate', 'encrypt with a new key from now on', {
        options: [
          option('--stage', 'only add a key, to distribute it before its use'),
          option('--to <key>', 'encrypt with this key, added before'),
        ],
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).rotate,
      }),
      command('remove <key>', 'remove a key that nothing needs', {
        options: [yesOption],
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).remove,
      }),
      command('export [file]', 'write the keys to a file, or to a pipe', {
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).exportRing,
      }),
      command('import <file>', 'add exported keys; - reads standard input', {
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).importRing,
      }),
    ],
  }),
  command('server', 'the Temporal server', {
    commands: [
      command('setup', 'register the search attributes that Heddle uses', {
        json: ['server-setup'],
        load: async () => (await import('./server.js')).setup,
      }),
    ],
  }),
  command('config', 'the configuration', {
    commands: [
      command('show', 'show the settings and their sources', {
        json: ['config'],
        load: async () => (await import('./config.js')).show,
      }),
    ],
  }),
];
