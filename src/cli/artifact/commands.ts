import { parseDuration } from '../../model/duration.js';
import {
  argument,
  option,
  parser,
  wholeNumber,
  yesOption,
  command,
  type CommandDefinition,
} from '../command.js';

const wanted = 'It must be the number of a version; see heddle resource list NAME.';
const parseNumber = wholeNumber(wanted, 1, 999_999_999);

/** Scripts, cookbooks and other files that plugins use. */
export const artifactCommands: CommandDefinition = command(
  'resource',
  'versioned files that plugins use, such as scripts and cookbooks',
  {
    heading: 'Resources:',
    page: 'guides/resources.md',
    commands: [
      command('put <resource>', 'store a version', {
        arguments: [
          argument('<path>', 'a folder, a tar archive or a file; - reads a file from standard input'),
        ],
        examples: ['heddle resource put web-scripts ./scripts'],
        options: [option('--set', 'set this version; the first version of a resource is always set')],
        json: ['resource-put'],
        load: async () => (await import('./put.js')).put,
      }),
      command('set <resource>', 'set the version of a resource; clusters use it from their next apply', {
        examples: ['heddle resource set web-scripts 2'],
        arguments: [
          argument<number | null>('<version>', 'a number, or none', (text) =>
            text === 'none' ? null : parseNumber(text, 0),
          ),
        ],
        json: ['resource-set'],
        load: async () => (await import('./change.js')).set,
      }),
      command('rollback <resource>', 'return to the version that was set before', {
        examples: ['heddle resource rollback web-scripts'],
        json: ['resource-set'],
        load: async () => (await import('./change.js')).rollback,
      }),
      command('list', 'list resources, or the versions of one', {
        arguments: [argument('[resource]', 'name of the resource (default: all)')],
        examples: ['heddle resource list', 'heddle resource list web-scripts'],
        json: ['resources', 'resource'],
        load: async () => (await import('./list.js')).list,
      }),
      command('get <resource>', 'write a version to a file or a new folder', {
        arguments: [argument('<path>', 'the file, or the new folder of an archive')],
        examples: ['heddle resource get web-scripts ./scripts --version 1'],
        options: [
          option('--version <number>', 'the version (default: the one that is set)', { parse: parseNumber }),
        ],
        json: ['resource-get'],
        load: async () => (await import('./list.js')).get,
      }),
      command(
        'prune',
        'remove versions that are neither set, nor the rollback target, nor used by a cluster',
        {
          examples: ['heddle resource prune --older-than 30d --dry-run'],
          options: [
            option('--older-than <duration>', 'only versions older than this (default: 7d)', {
              parse: parser('It must be a duration such as 12h or 7d.', (text) =>
                text === '0' ? 0 : parseDuration(text),
              ),
            }),
            option('--dry-run', 'only list them'),
            yesOption,
          ],
          json: ['resource-prune'],
          load: async () => (await import('./change.js')).prune,
        },
      ),
    ],
  },
);
