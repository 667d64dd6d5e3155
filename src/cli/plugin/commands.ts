import { Argument } from 'commander';
import { choice, option, command, type CommandDefinition } from '../command.js';

export const pluginCommands: CommandDefinition = command('plugins', 'list the plugins of a worker', {
  alias: 'plugin',
  more: ' with this configuration',
  needs: 'configuration',
  json: ['plugins'],
  load: async () => (await import('./list.js')).list,
  commands: [
    command('show <plugin>', 'show a plugin and its fields', {
      options: [option('--schema', 'JSON Schema of its fields')],
      needs: 'configuration',
      json: ['plugins'],
      load: async () => (await import('./list.js')).show,
    }),
    command(
      'run <plugin> <file>',
      'run one task of a file with a plugin, and print its result; - reads standard input',
      { needs: 'configuration', json: [], load: async () => (await import('./run.js')).runTask },
    ),
    command('setup <plugin>', 'install the Python packages that a plugin needs, into the data folder', {
      needs: 'configuration',
      json: ['plugin-setup'],
      load: async () => (await import('./setup.js')).setup,
    }),
    command('new', 'create a plugin in this folder, with a passing test', {
      arguments: [
        new Argument('<type>', 'type of the plugin').choices(['provider', 'automator']),
        new Argument('<name>', 'name of the plugin in cluster files'),
      ],
      options: [
        choice(
          '--language <language>',
          'language of the plugin; shell only for automators',
          ['typescript', 'python', 'shell'],
          'typescript',
        ),
      ],
      needs: 'configuration',
      json: ['plugin-new'],
      load: async () => (await import('./new.js')).create,
    }),
  ],
});
