import { Argument } from 'commander';
import type { MachineRequestIntent } from '../../model/machine/intents.js';
import { pairParser } from '../pairs.js';
import { bootDevices, type BootDevice } from '../../model/machine/boot.js';
import { driftKinds, powerVerbs, type DriftKind, type MachineIntent } from '../../model/machine/intents.js';
import { parseImageRef, type ImageRef } from '../../model/machine/image.js';
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
import { captureIntent, labelIntent, loadIntent, quarantineIntent } from './intents.js';

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

const machinesArgument = argument(
  '<machine>',
  "name of the machine, a pattern such as 'rack2-*', or GROUP@N for N free machines of a group",
);

const userOption = option('--user <user>', 'the user').makeOptionMandatory();

interface MachineVerb extends Pick<CommandDefinition, 'more' | 'examples' | 'arguments' | 'options'> {
  /** It takes one machine only, and no pattern of names. */
  readonly isSingle?: boolean;
  /** What it requests, by its arguments after the machine, and its options. */
  readonly intent: (...words: never[]) => MachineRequestIntent;
}

/** A command that starts an operation on each of its machines, and waits for its end. */
function machineVerb(
  name: string,
  description: string,
  { isSingle = false, intent, arguments: values = [], options = [], ...more }: MachineVerb,
): CommandDefinition {
  return command(isSingle ? `${name} <machine>` : name, description, {
    ...more,
    arguments: [...(isSingle ? [] : [machinesArgument]), ...values],
    options: [...options, ...(isSingle ? [] : batchOptions), ...waitOptions],
    json: isSingle ? ['machine-operation'] : ['machine-operation', 'machine-operations'],
    load: async () => {
      const { operation, patternOperation } = await import('./operate.js');
      return isSingle ? operation(intent) : patternOperation(intent);
    },
  });
}

type PowerVerb = Extract<MachineIntent, { readonly kind: 'power' }>['verb'];

/** Standalone machines. */
export const machineCommands: readonly CommandDefinition[] = [
  command('machine', 'machines and their images', {
    heading: 'Machines and images:',
    page: 'guides/machines.md',
    description: 'standalone machines and their images',
    commands: [
      command('add', 'register a machine, or the machines of a file', {
        examples: [
          'heddle machine add lab-1 --provider lab',
          'heddle machine add --from machines.csv --provider lab',
        ],
        more: ': a new one of the provider, or an existing one',
        arguments: [argument('[name]', 'name of the machine; with --from, the file contains the names')],
        options: [
          option(
            '--from <file>',
            'register the machines of an inventory file: YAML, JSON, CSV, or an Ansible inventory',
          ),
          option('--provider <account>', 'provider account that supplies the machine').makeOptionMandatory(),
          option('--flavor <flavor>', 'size, if the provider creates the machine', { fallback: 'small' }),
          option('--image <name>', 'image, if the provider creates the machine', { fallback: 'host' }),
          option('--field <name=value>', 'a user field of the provider; may be repeated', {
            parse: pairParser('--field'),
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
      command('list', 'list the machines', {
        examples: ['heddle machine list --group rack2'],
        alias: 'ls',
        options: listFilters,
        json: ['machines'],
        load: async () => (await import('./show.js')).list,
      }),
      command('show <machine>', 'show the status, current operation and history of a machine', {
        examples: ['heddle machine show lab-1'],
        json: ['machine'],
        load: async () => (await import('./show.js')).show,
      }),
      machineVerb('retry', 'retry a failed registration, or read the hardware again', {
        examples: ['heddle machine retry lab-1'],
        intent: () => ({ kind: 'retry' }),
      }),
      machineVerb('status', 'check which image is on a machine', {
        examples: ['heddle machine status lab-1 --image base@2'],
        more: ': READY, POST_LOAD, RELOAD or UNKNOWN, with the evidence',
        options: [
          option('--image <image[@revision]>', 'expected image (default: the one that was loaded)', {
            parse: parseImage,
          }),
        ],
        intent: ({ image }: { readonly image?: ImageRef }) => ({ kind: 'status', image }),
      }),
      machineVerb('power', 'show or change the power state of a machine', {
        examples: ['heddle machine power lab-1', "heddle machine power 'rack2-*' off"],
        arguments: [new Argument('[verb]', 'what to do').choices(powerVerbs).default('status')],
        intent: (verb: PowerVerb) => ({ kind: 'power', verb }),
      }),
      machineVerb('boot', 'set what a machine boots next time', {
        examples: ['heddle machine boot lab-1 --once pxe'],
        more: '; its power state does not change, and later boots are as before',
        options: [
          choice(
            '--once <device>',
            'what to boot: the network, the disk, a CD, or the firmware setup',
            bootDevices,
          ).makeOptionMandatory(),
        ],
        intent: ({ once }: { readonly once: BootDevice }) => ({ kind: 'boot', device: once }),
      }),
      command('console <machine>', 'connect this terminal to the serial console of a machine', {
        examples: ['heddle machine console lab-1'],
        more: ', of type ipmi, redfish or libvirt; needs a host of its site whose heddle.yaml has the account',
        json: [],
        load: async () => (await import('./console.js')).openConsole,
      }),
      machineVerb('load', 'load an image onto a machine', {
        examples: ['heddle machine load lab-1 base@2', "heddle machine load 'rack2-*' base --at-once 10"],
        more: '; the content of its disk is lost. Does nothing if the image is already there, or if this cannot be determined',
        arguments: [argument('<image[@revision]>', 'the image, such as base or base@2', parseImage)],
        options: [
          option('--force', 'write the image regardless of the current content'),
          choice('--only <steps>', 'write nothing, and repeat only the steps after the load', ['post-load']),
          option('--within <duration>', 'total time limit, such as 45m'),
        ],
        intent: loadIntent,
      }),
      machineVerb('capture', 'capture an image of a machine', {
        examples: ['heddle machine capture lab-1 base@3'],
        more: '; the image must not exist yet, and is verified by loading it',
        arguments: [argument('<image[@revision]>', 'the image, such as base or base@2', parseImage)],
        options: [
          option('--no-prove', 'skip the verification; the machine stays in maintenance'),
          option('--within <duration>', 'total time limit, such as 2h'),
        ],
        isSingle: true,
        intent: captureIntent,
      }),
      machineVerb('unload', 'remove the data of the user from a machine', {
        examples: ['heddle machine unload lab-1'],
        intent: () => ({ kind: 'unload' }),
      }),
      machineVerb('correct', 'set which drift of a machine is corrected automatically', {
        examples: ['heddle machine correct lab-1 power,image'],
        arguments: [argument('<drift>', 'gone, power, image, separated by commas, or none', parseDrift)],
        intent: (drift: readonly DriftKind[]) => ({ kind: 'correct', drift }),
      }),
      machineVerb('group', 'set the groups of a machine', {
        examples: ["heddle machine group 'rack2-*' rack2,gpu"],
        arguments: [argument('<groups>', 'groups, separated by commas, or none', parseGroups)],
        intent: (groups: readonly string[]) => ({ kind: 'group', groups }),
      }),
      machineVerb('label', 'set or remove labels of a machine', {
        arguments: [argument('<changes...>', 'KEY=VALUE to set a label, KEY- to remove it')],
        examples: ['heddle machine label lab-1 team=web room-'],
        intent: labelIntent,
      }),
      machineVerb('reserve', 'reserve a machine for a user', {
        examples: ['heddle machine reserve lab-1 --user ada'],
        options: [userOption],
        intent: ({ user }: { readonly user: string }) => ({ kind: 'reserve', user }),
      }),
      command('log-in <machine>', 'create a login for the user of a machine', {
        examples: ['heddle machine log-in lab-1 --user ada --key ~/.ssh/id_ed25519.pub'],
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
      machineVerb('release', 'release a reservation that was not used', {
        examples: ['heddle machine release lab-1'],
        intent: () => ({ kind: 'release' }),
      }),
      machineVerb('maintain', 'take a machine out of use', {
        examples: ["heddle machine maintain lab-1 --reason 'new disk'"],
        options: [option('--reason <text>', 'the reason', { fallback: 'maintenance' })],
        intent: ({ reason }: { readonly reason: string }) => ({ kind: 'maintain', reason }),
      }),
      machineVerb('restore', 'put a machine back into use', {
        examples: ['heddle machine restore lab-1'],
        intent: () => ({ kind: 'restore' }),
      }),
      machineVerb('quarantine', 'exclude a machine from use, with a comment', {
        examples: [
          "heddle machine quarantine lab-1 -m 'memory errors'",
          'heddle machine quarantine lab-1 --end',
        ],
        more: ': it is not allocated until --end; users can still operate it',
        options: [
          option('-m, --comment <text>', 'the reason; required unless --end is given'),
          option('--end', 'end the quarantine'),
        ],
        intent: quarantineIntent,
      }),
      command('cancel', 'cancel the current operation of a machine', {
        arguments: [machinesArgument],
        examples: ['heddle machine cancel lab-1'],
        more: '; cancelling a load that has started to write leaves the machine failed',
        options: [...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).cancel,
      }),
      command('confirm-ended <machine>', 'confirm that a program of a machine has ended on a worker host', {
        examples: ['heddle machine confirm-ended lab-1 --host worker-2'],
        more: ', which Heddle cannot check and after which it starts others. A program that still runs, or a rescue system, would overwrite the disk',
        options: [
          option('--host <host>', 'the worker host, as messages name it').makeOptionMandatory(),
          yesOption,
        ],
        json: ['machine-confirm-ended'],
        load: async () => (await import('./confirm-ended.js')).confirmEnded,
      }),
      command('move <machine>', 'move a machine to another provider account', {
        examples: ['heddle machine move lab-1 --provider berlin'],
        more: ', while it is not in use: to another provisioning system or another site',
        options: [
          option('--provider <account>', 'the new provider account').makeOptionMandatory(),
          option('--flavor <flavor>', 'size, if the provider creates the machine (default: unchanged)'),
          option('--image <name>', 'image, if the provider creates the machine (default: unchanged)'),
          option(
            '--field <name=value>',
            'a user field of the provider; may be repeated (default: unchanged for the same account, else none)',
            { parse: pairParser('--field') },
          ),
          ...waitOptions,
        ],
        json: ['machine-operation'],
        load: async () => (await import('./registration.js')).move,
      }),
      command('remove', 'unregister a machine', {
        arguments: [machinesArgument],
        examples: ['heddle machine remove lab-1'],
        more: '; the provider deletes it with its disk, or takes it back; asks for confirmation',
        options: [option('--force', 'also while it is in use'), yesOption, ...batchOptions, ...waitOptions],
        json: ['machine-operation', 'machine-operations'],
        load: async () => (await import('./operate.js')).remove,
      }),
    ],
  }),
  command('computers', 'show which provisioning system manages which machine', {
    page: 'guides/machines.md',
    examples: ['heddle computers --site berlin'],
    more: ', and which site serves which systems',
    options: listFilters,
    json: ['computers'],
    load: async () => (await import('./computers.js')).computers,
  }),
];
