import { option, yesOption, command, type CommandDefinition } from '../command.js';
import { parseGiven } from './given-texts.js';

const fileOption = option(
  '--file <file>',
  'heddle.yaml to change; made where it is missing (default: the one that is used)',
);

export const accountCommands: CommandDefinition = command('provider', 'provider accounts in heddle.yaml', {
  more: ': what machines are asked from',
  commands: [
    command('add <name>', 'add an account; on a terminal it asks for the fields that are not given', {
      options: [
        fileOption,
        option('--type <type>', 'the provider plugin; heddle plugins lists them').makeOptionMandatory(),
        option(
          '--field <key=value>',
          "an administrators' field; may be repeated. A secret only as a reference: key=env:NAME",
          { parse: parseGiven },
        ),
        option(
          '--secrets-from <->',
          '-: read secrets from standard input, lines of key=value; they are stored in files of mode 0600',
        ),
        option('--site <site>', "the site whose workers reach its machines (default: each worker's own)"),
        option('--replace', 'write an account anew that is there already'),
      ],
      needs: 'configuration',
      json: ['provider-add'],
      load: async () => (await import('./add.js')).add,
    }),
    command('list', 'list the accounts, without what is secret', {
      options: [fileOption],
      needs: 'configuration',
      json: ['providers'],
      load: async () => (await import('./list.js')).list,
    }),
    command('test <name>', 'ask the provider of an account for its machines, or for its quota', {
      options: [fileOption],
      needs: 'configuration',
      json: ['provider-test'],
      load: async () => (await import('./list.js')).test,
    }),
    command('remove <name>', 'remove an account and the secrets stored for it', {
      options: [fileOption, yesOption],
      needs: 'configuration',
      json: ['provider-remove'],
      load: async () => (await import('./list.js')).remove,
    }),
  ],
});
