import type { Command } from 'commander';
import { withCommonOptions, type Run } from '../options.js';
import { parseGiven } from './given-texts.js';

/** Verbs about provider accounts in heddle.yaml. */
export function addAccountVerbs(program: Command, run: Run): void {
  const provider = program
    .command('provider')
    .summary('provider accounts in heddle.yaml')
    .description('provider accounts in heddle.yaml: what machines are asked from');
  const verb = (name: string, description: string): Command =>
    provider
      .command(name)
      .description(description)
      .option(
        '--file <file>',
        'heddle.yaml to change; made where it is missing (default: the one that is used)',
      );

  withCommonOptions(
    verb('add <name>', 'add an account; on a terminal it asks for the fields that are not given')
      .requiredOption('--type <type>', 'the provider plugin; heddle plugins lists them')
      .option(
        '--field <key=value>',
        "an administrators' field; may be repeated. A secret only as a reference: key=env:NAME",
        parseGiven,
      )
      .option(
        '--secrets-from <->',
        '-: read secrets from standard input, lines of key=value; they are stored in files of mode 0600',
      )
      .option('--site <site>', "the site whose workers reach its machines (default: each worker's own)")
      .option('--replace', 'write an account anew that is there already'),
    'configuration',
  ).action((name, options) => run(async () => (await import('./add.js')).add(name, options)));

  withCommonOptions(verb('list', 'list the accounts, without what is secret'), 'configuration').action(
    (options) => run(async () => (await import('./list.js')).list(options)),
  );

  withCommonOptions(
    verb('remove <name>', 'remove an account and the secrets stored for it').option(
      '-y, --yes',
      'do not ask back',
    ),
    'configuration',
  ).action((name, options) => run(async () => (await import('./remove.js')).remove(name, options)));
}
