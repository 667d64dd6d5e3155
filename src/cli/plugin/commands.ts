import { Argument } from 'commander';
import {
  argument,
  choice,
  option,
  command,
  durationMs,
  namesOption,
  wholeNumber,
  type CommandDefinition,
} from '../command.js';

export const pluginCommands: CommandDefinition = command('plugins', 'list the plugins of a worker', {
  examples: ['heddle plugins'],
  alias: 'plugin',
  more: ' with this configuration',
  needs: 'configuration',
  json: ['plugins'],
  load: async () => (await import('./list.js')).list,
  commands: [
    command('show <plugin>', 'show a plugin and its fields', {
      examples: ['heddle plugins show shell'],
      options: [option('--schema', 'JSON Schema of its fields')],
      needs: 'configuration',
      json: ['plugins'],
      load: async () => (await import('./list.js')).show,
    }),
    command('run <plugin>', 'run one task of a file with a plugin, and print its result', {
      examples: ['heddle plugins run shell task.json'],
      arguments: [argument('<file>', 'the task as JSON; - reads standard input')],
      needs: 'configuration',
      json: [],
      load: async () => (await import('./run.js')).runTask,
    }),
    command('test <plugin>', 'test whether a plugin does what the contract says', {
      examples: ['heddle plugins test my-cloud', 'heddle plugins test my-cloud --case lost-create'],
      options: [
        option(
          '--folder <folder>',
          'folder of the plugin (default: plugins of heddle.yaml, the current folder)',
        ),
        option('--settings <file>', 'settings of the suite (default: NAME.suite.yaml beside the descriptor)'),
        namesOption('--case <cases>', 'only these cases, such as life,login', 'cases'),
      ],
      needs: 'configuration',
      page: 'reference/plugins/suites.md',
      json: ['plugin-test'],
      load: async () => (await import('./test-plugin.js')).test,
    }),
    command('cloud', 'run a fake cloud for a provider that you write', {
      description:
        'run a fake cloud for a provider that you write: the machine service, with small pages and, if you like, late lists and failing calls',
      examples: ['heddle plugins cloud', 'heddle plugins cloud --lag 2s --refuse-every 5 --lose-every 7'],
      options: [
        option('--page-size <number>', 'most machines in one answer of a list', {
          parse: wholeNumber('It must be a whole number from 1 to 1000.', 1, 1_000),
          fallback: 2,
        }),
        option('--lag <duration>', 'how long lists and descriptions omit a new machine, such as 2s', {
          parse: durationMs('It must be a duration such as 500ms or 2s.'),
        }),
        option('--refuse-every <number>', 'every how many calls one is refused, with 429 and 503 in turn', {
          parse: wholeNumber('It must be a whole number of at least 2.', 2),
        }),
        option('--lose-every <number>', 'every how many calls one is carried out and its answer is lost', {
          parse: wholeNumber('It must be a whole number of at least 2.', 2),
        }),
      ],
      needs: 'configuration',
      page: 'reference/plugins/suites.md',
      json: ['plugin-cloud'],
      load: async () => (await import('./cloud.js')).cloud,
    }),
    command('setup <plugin>', 'install the Python packages that a plugin needs, into the data folder', {
      examples: ['heddle plugins setup libcloud'],
      needs: 'configuration',
      json: ['plugin-setup'],
      load: async () => (await import('./setup.js')).setup,
    }),
    command('new', 'create a plugin in this folder, which passes its tests', {
      examples: ['heddle plugins new automator motd --language shell'],
      arguments: [
        new Argument('<type>', 'type of the plugin').choices(['provider', 'automator']),
        argument('<name>', 'name of the plugin in cluster files'),
      ],
      options: [
        choice(
          '--language <language>',
          'language of the plugin; shell only for automators',
          ['typescript', 'python', 'ruby', 'shell'],
          'typescript',
        ),
      ],
      needs: 'configuration',
      json: ['plugin-new'],
      load: async () => (await import('./new.js')).create,
    }),
  ],
});
