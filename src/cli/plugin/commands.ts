import { Argument } from 'commander';
import { choice, option, command, type CommandDefinition } from '../command.js';

export const pluginCommands: CommandDefinition = command('plugins', 'the plugins that a worker has', {
  alias: 'plugin',
  more: ' with this configuration',
  needs: 'configuration',
  json: ['plugins'],
  load: async () => (await import('./list.js')).list,
  commands: [
    command('show <name>', 'a plugin, and the fields that people fill in', {
      options: [option('--schema', 'JSON Schema of its fields')],
      needs: 'configuration',
      json: ['plugins'],
      load: async () => (await import('./list.js')).show,
    }),
    command(
      'run <name> <task>',
      'carry out one task of a file by a plugin, and print its result; - reads standard input',
      { needs: 'configuration', json: [], load: async () => (await import('./run.js')).runTask },
    ),
    command('setup <name>', 'install the Python packages that a plugin needs, into the data folder', {
      needs: 'configuration',
      json: ['plugin-setup'],
      load: async () => (await import('./setup.js')).setup,
    }),
    command('new', 'begin a plugin in this folder, with a test that passes', {
      arguments: [
        new Argument('<type>', 'what it is').choices(['provider', 'automator']),
        new Argument('<name>', 'what clusters call it'),
      ],
      options: [
        choice(
          '--language <language>',
          'what it is written in: shell for automators only',
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
