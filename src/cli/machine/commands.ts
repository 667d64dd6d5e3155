import { Argument } from 'commander';
import { parsePair } from '../pairs.js';
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
  "number of machines at a time, with a pattern of names such as 'rack2-*' or a file (default: 5)",
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
        arguments: [new Argument('[name]', 'name of the machine; with --from, the file contains the names')],
        options: [
          option(
            '--from <file>',
            'register the machines of an inventory file: YAML, JSON, CSV, or an Ansible inventory',
          ),
          option('--provider <account>', 'provider account that supplies the machine').makeOptionMandatory(),
          option('--flavor <flavor>', 'size, if the provider creates the machine', { fallback: 'small' }),
          option('--image <name>', 'image, if the provider creates the machine', { fallback: 'host' }),
          option('--field <name=value>', 'a user field of the provider; may be repeated', {
            parse: parsePair,
          }),
          option(
            '--system <automator>',
            'automator for the operating system part of load and capture; none for a machine without one',
            { fallback: 'linux' },
          ),
          option(
            '--default-image <image[@revision]>',
            'image to load after a reservation (default: the image of --image)',
            { parse: parseImage },
          ),
          option(
            '--correct <drift>',
            'drift to correct automatically, separated by commas: gone, power, image (default: none)',
            { parse: parseDrift },
          ),
          option('--group <groups>', 'groups of the machine, separated by commas', { parse: parseGroups }),
          labelOption('label of the machine; may be repeated'),
          atOnceOption,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./registration.js')).add,
      }),
      command('retry <machine>', 'retry a failed registration, or read the hardware again', {
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
      command('show <machine>', 'show the status, current operation and history of a machine', {
        json: ['machine'],
        load: async () => (await import('./show.js')).show,
      }),
      command('status <machine>', 'check which image is on a machine', {
        more: ': READY, POST_LOAD, RELOAD or UNKNOWN, with the evidence',
        options: [
          option('--image <image[@revision]>', 'expected image (default: the one that was loaded)', {
            parse: parseImage,
          }),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).status,
      }),
      command('power <machine>', 'show or change the power state of a machine', {
        more: ': on, off, reset or status',
        arguments: [new Argument('[verb]', 'what to do').choices(powerVerbs).default('status')],
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).power,
      }),
      command('boot <machine>', 'set what a machine boots next time', {
        more: '; its power state does not change, and later boots are as before',
        options: [
          choice(
            '--once <device>',
            'what to boot: the network, the disk, a CD, or the firmware setup',
            bootDevices,
          ).makeOptionMandatory(),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).boot,
      }),
      command('console <machine>', 'connect this terminal to the serial console of a machine', {
        more: ', of type ipmi, redfish or libvirt; needs a host of its site whose heddle.yaml has the account',
        json: [],
        load: async () => (await import('./console.js')).openConsole,
      }),
      command('load <machine>', 'load an image onto a machine', {
        more: '; the content of its disk is lost. Does nothing if the image is already there, or if this cannot be determined',
        arguments: [argument('<image[@revision]>', 'the image, such as base or base@2', parseImage)],
        options: [
          option('--force', 'write the image regardless of the current content'),
          choice('--only <steps>', 'write nothing, and repeat only the steps after the load', ['post-load']),
          option('--within <duration>', 'total time limit, such as 45m'),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).load,
      }),
      command('capture <machine>', 'capture an image of a machine', {
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
      command('unload <machine>', 'remove the data of the user from a machine', {
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).unload,
      }),
      command('correct <machine>', 'set which drift of a machine is corrected automatically', {
        arguments: [argument('<drift>', 'gone, power, image, separated by commas, or none', parseDrift)],
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).correct,
      }),
      command('group <machine>', 'set the groups of a machine', {
        arguments: [argument('<groups>', 'groups, separated by commas, or none', parseGroups)],
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).group,
      }),
      command('label <machine> <changes...>', 'set or remove labels of a machine', {
        more: ': KEY=VALUE sets one, and KEY- removes it',
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).label,
      }),
      command('reserve <machine>', 'reserve a machine for a user', {
        options: [userOption, ...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).reserve,
      }),
      command('log-in <machine>', 'create a login for the user of a machine', {
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
      command('maintain <machine>', 'take a machine out of use', {
        options: [
          option('--reason <text>', 'the reason', { fallback: 'maintenance' }),
          ...batchOptions,
          ...waitOptions,
        ],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).maintain,
      }),
      command('restore <machine>', 'put a machine back into use', {
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).restore,
      }),
      command('quarantine <machine>', 'exclude a machine from use, with a comment', {
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
      command('cancel <machine>', 'cancel the current operation of a machine', {
        more: '; cancelling a load that has started to write leaves the machine failed',
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).cancel,
      }),
      command('confirm-ended <machine>', 'confirm that a program of a machine has ended on a worker host', {
        more: ', which Heddle cannot check and after which it starts others. A program that still runs, or a rescue system, would overwrite the disk',
        options: [
          option('--host <host>', 'the worker host, as messages name it').makeOptionMandatory(),
          yesOption,
        ],
        json: ['machine-confirm-ended'],
        load: async () => (await import('./confirm-ended.js')).confirmEnded,
      }),
      command('move <machine>', 'move a machine to another provider account', {
        more: ', while it is not in use: to another provisioning system or another site',
        options: [
          option('--provider <account>', 'the new provider account').makeOptionMandatory(),
          option('--flavor <flavor>', 'size, if the provider creates the machine (default: unchanged)'),
          option('--image <name>', 'image, if the provider creates the machine (default: unchanged)'),
          option(
            '--field <name=value>',
            'a user field of the provider; may be repeated (default: unchanged for the same account, else none)',
            { parse: parsePair },
          ),
          ...waitOptions,
        ],
        json: ['machine-operation'],
        load: async () => (await import('./registration.js')).move,
      }),
      command('remove <machine>', 'unregister a machine', {
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
