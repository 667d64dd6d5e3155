import { Argument } from 'commander';
import { bootDevices } from '../../model/machine/boot.js';
import { driftKinds, powerVerbs } from '../../model/machine/state.js';
import { parseImageRef } from '../../model/machine/image.js';
import { groupRule, isGroupName } from '../../model/machine/selection.js';
import {
  argument,
  choice,
  option,
  parser,
  splitList,
  waitOptions,
  wholeNumber,
  yesOption,
  labelOption,
  command,
  type CommandDefinition,
} from '../command.js';

const parseImage = parser(
  'It must be an image, name or name@revision, of letters, digits, dots, underscores and hyphens.',
  parseImageRef,
);

const parseDrift = parser(
  `It must be a list of ${driftKinds.join(', ')}, separated by commas, or none.`,
  (text) => {
    if (text === 'none') return [];
    const words = splitList(text) ?? [];
    const kinds = driftKinds.filter((kind) => words.includes(kind));
    return kinds.length > 0 && kinds.length === words.length ? kinds : undefined;
  },
);

const atOnceOption = option(
  '--at-once <number>',
  "with a pattern of names such as 'rack2-*', or a file: machines at a time (default: 5)",
  { parse: wholeNumber('It must be a whole number of at least 1.', 1) },
);

const parseGroup = parser(groupRule, (text) => (isGroupName(text) ? text : undefined));

const parseGroups = parser(
  `It must be a list of groups, separated by commas, or none. ${groupRule}`,
  (text) => {
    const names = text === 'none' ? [] : splitList(text);
    return names?.every(isGroupName) === true ? [...new Set(names)] : undefined;
  },
);

/** Which machines a list shows, or a command works on. */
const filterOptions = [
  option('--group <group>', 'machines of this group only', { parse: parseGroup }),
  labelOption('machines with this label only'),
];

const listFilters = [
  ...filterOptions,
  option('--provider <account>', 'machines of this provider account only'),
  option('--site <site>', 'machines of this site only'),
];

/** Of commands that take several machines. */
const batchOptions = [...filterOptions, atOnceOption];

const userOption = option('--user <user>', 'the user').makeOptionMandatory();

/** Standalone machines. */
export const machineCommands: readonly CommandDefinition[] = [
  command('machine', 'machines and their images', {
    heading: 'Machines and images:',
    description: 'standalone machines and their images',
    commands: [
      command('add', 'register a machine, or the machines of a file', {
        more: ': a new one of the provider, or an existing one',
        arguments: [new Argument('[name]', 'its name; with --from, the file contains the names')],
        options: [
          option(
            '--from <file>',
            'register the machines of an inventory file: YAML, JSON, CSV, or an Ansible inventory',
          ),
          option('--provider <account>', 'the provider account that it comes from').makeOptionMandatory(),
          option('--flavor <flavor>', 'its size, if the provider creates it', { fallback: 'small' }),
          option('--image <name>', 'image to create it from, if the provider creates it', {
            fallback: 'host',
          }),
          option('--field <name=value...>', 'user fields of the provider'),
          option(
            '--system <automator>',
            'automator for the operating system part of load and capture; none for a machine without one',
            { fallback: 'linux' },
          ),
          option(
            '--default-image <image[@revision]>',
            'image to load after a reservation (default: the image it is created from)',
            { parse: parseImage },
          ),
          option(
            '--correct <drift>',
            'drift to correct automatically, separated by commas: gone, power, image (default: none)',
            { parse: parseDrift },
          ),
          option('--group <groups>', 'its groups, separated by commas', { parse: parseGroups }),
          labelOption('a label of it; may be repeated'),
          atOnceOption,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./registration.js')).add,
      }),
      command('retry <machine>', 'retry a registration that failed, or read the hardware again', {
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).retry,
      }),
      command('list', 'list the machines', {
        alias: 'ls',
        options: listFilters,
        json: ['machines'],
        load: async () => (await import('./show.js')).list,
      }),
      command('show <machine>', 'show its status, current operation and history', {
        json: ['machine'],
        load: async () => (await import('./show.js')).show,
      }),
      command('status <machine>', 'check which image is on it', {
        more: ': READY, POST_LOAD, RELOAD or UNKNOWN, with the evidence',
        options: [
          option(
            '--image <image[@revision]>',
            'the image it should have (default: the one it was loaded with)',
            { parse: parseImage },
          ),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).status,
      }),
      command('power <machine>', 'show or change its power state', {
        more: ': on, off, reset or status',
        arguments: [new Argument('[verb]', 'what to do').choices(powerVerbs).default('status')],
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).power,
      }),
      command('boot <machine>', 'set what it boots next time', {
        more: '; its power stays as it is, and afterwards it boots as before',
        options: [
          choice(
            '--once <device>',
            'from the network, its disk or a CD, or into the firmware setup',
            bootDevices,
          ).makeOptionMandatory(),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).boot,
      }),
      command('console <machine>', 'connect this terminal to its serial console', {
        more: ', on a host of its site whose heddle.yaml has the account; for machines of type ipmi, redfish or libvirt',
        json: [],
        load: async () => (await import('./console.js')).openConsole,
      }),
      command('load <machine>', 'load an image onto it', {
        more: '; what is on its disk is lost. Does nothing if the image is already there, or if this cannot be determined',
        arguments: [argument('<image[@revision]>', 'the image, such as base or base@2', parseImage)],
        options: [
          option('--force', 'write the image regardless of the current content'),
          choice('--only <steps>', 'write nothing: repeat the steps after loading', ['post-load']),
          option('--within <duration>', 'total time limit, such as 45m'),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).load,
      }),
      command('capture <machine>', 'capture an image of it', {
        more: '; the image must not exist yet, and is verified by loading it',
        arguments: [argument('<image[@revision]>', 'the image, such as base or base@2', parseImage)],
        options: [
          option('--no-prove', 'skip the verification; the machine stays in maintenance'),
          option('--within <duration>', 'total time limit, such as 2h'),
          ...waitOptions,
        ],
        json: ['machine-operation'],
        load: async () => (await import('./operate.js')).capture,
      }),
      command('unload <machine>', 'remove the data of its user', {
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).unload,
      }),
      command('correct <machine>', 'set which drift is corrected automatically', {
        arguments: [argument('<drift>', 'gone, power, image, separated by commas, or none', parseDrift)],
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).correct,
      }),
      command('group <machine>', 'set the groups that it belongs to', {
        arguments: [argument('<groups>', 'groups, separated by commas, or none', parseGroups)],
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).group,
      }),
      command('label <machine> <changes...>', 'set or remove labels', {
        more: ': KEY=VALUE sets one, and KEY- removes it',
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).label,
      }),
      command('reserve <machine>', 'reserve it for a user', {
        options: [userOption, ...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).reserve,
      }),
      command('log-in <machine>', 'create a login for the user', {
        more: '; its image then counts as tainted',
        options: [
          userOption,
          option(
            '--key <file>',
            "the user's public key, such as ~/.ssh/id_ed25519.pub (default: a password)",
          ),
          ...waitOptions,
        ],
        json: ['machine-operation'],
        load: async () => (await import('./operate.js')).logIn,
      }),
      command('release <machine>', 'release a reservation that was not used', {
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).release,
      }),
      command('maintain <machine>', 'take it out of use', {
        options: [
          option('--reason <text>', 'why', { fallback: 'maintenance' }),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).maintain,
      }),
      command('restore <machine>', 'put it back into use', {
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).restore,
      }),
      command('quarantine <machine>', 'exclude it from use, with a comment', {
        more: ': it is not allocated until --end; users can still operate it',
        options: [
          option('-m, --comment <text>', 'the reason; required unless --end is given'),
          option('--end', 'end the quarantine'),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).quarantine,
      }),
      command('cancel <machine>', 'cancel its current operation', {
        more: '; cancelling a load that has started to write leaves the machine failed',
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).cancel,
      }),
      command('confirm-ended <machine>', 'confirm that a program on its worker host has ended', {
        more: ', which Heddle cannot check; it then starts others. A program that still runs, or a rescue system, would overwrite the disk',
        options: [
          option('--host <host>', 'the worker host, as messages name it').makeOptionMandatory(),
          yesOption,
        ],
        json: ['machine-confirm-ended'],
        load: async () => (await import('./confirm-ended.js')).confirmEnded,
      }),
      command('move <machine>', 'move it to another provider account', {
        more: ', while it is not in use: to another provisioning system or another site',
        options: [
          option('--provider <account>', 'the new provider account').makeOptionMandatory(),
          option('--flavor <flavor>', 'its size, if the provider creates it (default: unchanged)'),
          option(
            '--image <name>',
            'image to create it from, if the provider creates it (default: unchanged)',
          ),
          option(
            '--field <name=value...>',
            'user fields of the provider (default: unchanged for the same account, else none)',
          ),
          ...waitOptions,
        ],
        json: ['machine-operation'],
        load: async () => (await import('./registration.js')).move,
      }),
      command('remove <machine>', 'unregister it', {
        more: '; the provider deletes it with its disk, or takes it back; asks for confirmation',
        options: [option('--force', 'also while it is in use'), yesOption, ...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).remove,
      }),
    ],
  }),
  command('computers', 'show which provisioning system manages which machine', {
    more: ', and which site serves which systems',
    options: listFilters,
    json: ['computers'],
    load: async () => (await import('./computers.js')).computers,
  }),
];
