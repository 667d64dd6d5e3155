import { parseDuration } from '../../schema/duration.js';
import {
  argument,
  option,
  parser,
  wholeNumber,
  yesOption,
  command,
  type CommandDefinition,
} from '../command.js';

const wanted = 'It is the number of a version, as heddle resource list NAME shows them.';
const parseNumber = wholeNumber(wanted, 1, 999_999_999);

/** Scripts, cookbooks and other files that plugins use. */
export const artifactCommands: CommandDefinition = command(
  'resource',
  'scripts, cookbooks and other files that plugins use, in versions',
  {
    heading: 'Resources:',
    commands: [
      command(
        'put <name> <path>',
        'store a version: a folder or a tar archive, or a file; - reads a file from standard input',
        {
          options: [
            option('--set', 'let the name mean it from now on; the first version of a name is set anyway'),
          ],
          load: async () => (await import('./put.js')).put,
        },
      ),
      command('set <name>', 'let a name mean a version; clusters follow with their next apply', {
        arguments: [
          argument<number | null>('<version>', 'a number, or none', (text) =>
            text === 'none' ? null : parseNumber(text, 0),
          ),
        ],
        load: async () => (await import('./change.js')).set,
      }),
      command('rollback <name>', 'let a name mean what it meant before', {
        load: async () => (await import('./change.js')).rollback,
      }),
      command('list [name]', 'the resources, or the versions of one', {
        load: async () => (await import('./list.js')).list,
      }),
      command('get <name> <path>', 'write what a version holds to a file, or to a new folder', {
        options: [
          option('--version <number>', 'the version (default: the one that is set)', { parse: parseNumber }),
        ],
        load: async () => (await import('./list.js')).get,
      }),
      command(
        'prune',
        'remove versions that are not set, were not set before that, and that no cluster uses',
        {
          options: [
            option('--older-than <time>', 'only what was put longer ago (default: 7d)', {
              parse: parser('It is a time such as 12h or 7d.', (text) =>
                text === '0' ? 0 : parseDuration(text),
              ),
            }),
            option('--dry-run', 'only show what would be removed'),
            yesOption,
          ],
          load: async () => (await import('./change.js')).prune,
        },
      ),
    ],
  },
);
