import { InvalidArgumentError, type Command } from 'commander';
import { parseDuration } from '../../schema/duration.js';
import { withCommonOptions, type Run } from '../options.js';

/** Verbs about resources: scripts, cookbooks and other files that plugins use. */
export function addResourceVerbs(program: Command, run: Run): void {
  program.commandsGroup('Resources:');
  const summary = 'scripts, cookbooks and other files that plugins use, in versions';
  const resource = program.command('resource').summary(summary).description(summary);
  const server = (command: Command): Command => withCommonOptions(command, 'server');

  server(
    resource
      .command('put <name> <path>')
      .description(
        'store a version: a folder or a tar archive, or a file; - reads a file from standard input',
      )
      .option('--set', 'let the name mean it from now on; the first version of a name is set anyway'),
  ).action((name, path, options) => run(async () => (await import('./change.js')).put(name, path, options)));
  server(
    resource
      .command('set <name>')
      .argument('<version>', 'a number, or none', parseVersion)
      .description('let a name mean a version; clusters follow with their next apply'),
  ).action((name, version, options) =>
    run(async () => (await import('./change.js')).set(name, version, options)),
  );
  server(resource.command('rollback <name>').description('let a name mean what it meant before')).action(
    (name, options) => run(async () => (await import('./change.js')).rollback(name, options)),
  );
  server(resource.command('list [name]').description('the resources, or the versions of one')).action(
    (name, options) => run(async () => (await import('./look.js')).list(name, options)),
  );
  server(
    resource
      .command('get <name> <path>')
      .description('write what a version holds to a file, or to a new folder')
      .option('--version <number>', 'the version (default: the one that is set)', parseNumber),
  ).action((name, path, options) => run(async () => (await import('./look.js')).get(name, path, options)));
  server(
    resource
      .command('prune')
      .description('remove versions that are not set, were not set before that, and that no cluster uses')
      .option('--older-than <time>', 'only what was put longer ago (default: 7d)', parseTime)
      .option('--dry-run', 'only show what would be removed')
      .option('-y, --yes', 'do not ask back'),
  ).action((options) => run(async () => (await import('./change.js')).prune(options)));
}

function parseVersion(text: string): number | null {
  return text === 'none' ? null : parseNumber(text);
}

function parseNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is the number of a version, as heddle resource list NAME shows them.');
}

function parseTime(text: string): number {
  const ms = text === '0' ? 0 : parseDuration(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('It is a time such as 12h or 7d.');
}
