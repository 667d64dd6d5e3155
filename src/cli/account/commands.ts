import { argument, option, yesOption, command, type CommandDefinition } from '../command.js';
import { pairParser } from '../pairs.js';

const fileOption = option(
  '--file <file>',
  'heddle.yaml with the accounts; add creates it if missing (default: the one in use)',
);

export const accountCommands: CommandDefinition = command('provider', 'provider accounts in heddle.yaml', {
  more: ', which supply machines',
  commands: [
    command('add', 'add an account; prompts for missing fields on a terminal', {
      arguments: [argument('<name>', 'name of the account')],
      examples: ['heddle provider add cloud --type aws --field region=eu-central-1'],
      options: [
        fileOption,
        option('--type <type>', 'the provider plugin; see heddle plugins').makeOptionMandatory(),
        option(
          '--field <name=value>',
          "an administrators' field; may be repeated. A secret must be a reference, such as apiKey=env:API_KEY",
          { parse: pairParser('--field') },
        ),
        option(
          '--secrets-from <->',
          '-: read secrets from standard input as lines NAME=VALUE, and store them in files of mode 0600',
        ),
        option('--site <site>', "the site whose workers reach its machines (default: each worker's own)"),
        option('--replace', 'replace an existing account'),
      ],
      needs: 'configuration',
      json: ['provider-add'],
      load: async () => (await import('./add.js')).add,
    }),
    command('list', 'list the accounts, without secrets', {
      examples: ['heddle provider list'],
      options: [fileOption],
      needs: 'configuration',
      json: ['providers'],
      load: async () => (await import('./list.js')).list,
    }),
    command('test <account>', 'test an account: list its machines, or read its quota', {
      examples: ['heddle provider test cloud'],
      options: [fileOption],
      needs: 'configuration',
      json: ['provider-test'],
      load: async () => (await import('./list.js')).test,
    }),
    command('remove <account>', 'remove an account and the secrets stored for it', {
      examples: ['heddle provider remove cloud'],
      options: [fileOption, yesOption],
      needs: 'configuration',
      json: ['provider-remove'],
      load: async () => (await import('./list.js')).remove,
    }),
  ],
});
