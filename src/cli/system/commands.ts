import { accountCommands } from '../account/commands.js';
import {
  argument,
  choice,
  option,
  wholeNumber,
  yesOption,
  command,
  type CommandDefinition,
} from '../command.js';
import { pluginCommands } from '../plugin/commands.js';

const parse = wholeNumber('It must be a number from 0 to 65535; 0 selects a free port.', 0, 65_535);

/** Commands about Heddle itself. */
export const systemCommands: readonly CommandDefinition[] = [
  command('dev', 'run everything on this machine', {
    examples: ['heddle dev'],
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
    examples: ['heddle worker --config heddle.yaml'],
    json: [],
    load: async () => (await import('./worker.js')).worker,
  }),
  command('doctor', 'check the installation', {
    examples: ['heddle doctor'],
    more: ': server, workers, workflows, keys, plugins and folders',
    options: [choice('--severity <state>', 'exit with 1 from this state on', ['warn', 'fail'], 'warn')],
    json: ['doctor'],
    load: async () => (await import('./doctor.js')).doctor,
  }),
  command('explain', 'say what an error means and what to do', {
    more: ': a code of an error, a kind of failure, a check of doctor, or (a part of) a message',
    arguments: [argument('[code...]', 'a code, or words of a message (default: list the codes)')],
    examples: ['heddle explain NoWorker', "heddle explain 'shows host key'"],
    page: 'reference/errors.md',
    needs: 'output',
    json: ['explain'],
    load: async () => (await import('../explain/explain.js')).explain,
  }),
  command('leaks', 'list orphaned machines', {
    page: 'guides/leaks.md',
    examples: ['heddle leaks', 'heddle leaks --sweep'],
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
    examples: ['heddle recover web', 'heddle recover pool/ci'],
    more: ': reset it to the end of its last good task; WORKFLOW is a cluster, or pool/NAME, machine/NAME or image/NAME',
    json: ['recover'],
    load: async () => (await import('./recover.js')).recover,
  }),
  command('replay', 'check that this build can continue workflows', {
    page: 'guides/upgrading.md',
    arguments: [argument('[files...]', 'exported histories')],
    examples: ['heddle replay --all-running'],
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
    page: 'guides/encryption.md',
    commands: [
      command('create', 'create the first key of a new installation', {
        examples: ['heddle keys create'],
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).create,
      }),
      command('list', 'list the keys and what needs them, without secrets', {
        examples: ['heddle keys list'],
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).list,
      }),
      command('rotate', 'encrypt with a new key from now on', {
        examples: ['heddle keys rotate'],
        options: [
          option('--stage', 'only add a key, to distribute it before its use'),
          option('--to <key>', 'encrypt with this key, added before'),
        ],
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).rotate,
      }),
      command('remove <key>', 'remove a key that nothing needs', {
        examples: ['heddle keys remove k28ff5de5'],
        options: [yesOption],
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).remove,
      }),
      command('export', 'write the keys to a file, or to a pipe', {
        arguments: [argument('[file]', 'a new file (default: standard output, if it is a pipe)')],
        examples: ['heddle keys export ring.json'],
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).exportRing,
      }),
      command('import', 'add exported keys', {
        arguments: [argument('<file>', 'a file of keys export; - reads standard input')],
        examples: ['heddle keys import ring.json'],
        needs: 'configuration',
        json: ['keys'],
        load: async () => (await import('./keys.js')).importRing,
      }),
    ],
  }),
  command('server', 'the Temporal server', {
    page: 'guides/temporal-server.md',
    commands: [
      command('setup', 'register the search attributes that Heddle uses', {
        examples: ['heddle server setup'],
        json: ['server-setup'],
        load: async () => (await import('./server.js')).setup,
      }),
    ],
  }),
  command('config', 'the configuration', {
    page: 'reference/configuration.md',
    commands: [
      command('show', 'show the settings and their sources', {
        examples: ['heddle config show'],
        json: ['config'],
        load: async () => (await import('./config.js')).show,
      }),
    ],
  }),
];
