import { Argument } from 'commander';
import { driftKinds, powerVerbs } from '../../model/machine/state.js';
import { parseImageRef } from '../../model/machine/image.js';
import {
  argument,
  option,
  parser,
  splitList,
  waitOptions,
  command,
  type CommandDefinition,
} from '../command.js';

const parseImage = parser(
  'It is an image: name, or name@revision; letters, digits, dots, underscores and hyphens.',
  parseImageRef,
);

const parseDrift = parser(`It is ${driftKinds.join(', ')} with commas, or none.`, (text) => {
  if (text === 'none') return [];
  const words = splitList(text) ?? [];
  const kinds = driftKinds.filter((kind) => words.includes(kind));
  return kinds.length > 0 && kinds.length === words.length ? kinds : undefined;
});

const userOption = option('--user <name>', 'the user').makeOptionMandatory();

/** Standalone machines. */
export const machineCommands: readonly CommandDefinition[] = [
  command('machine', 'machines and what is on them', {
    heading: 'Machines and images:',
    description: 'machines that are registered by themselves, and the images on them',
    commands: [
      command('add <name>', 'register a machine', {
        more: ': one that the provider makes, or one that it has',
        options: [
          option('--provider <name>', 'the provider account that it comes from').makeOptionMandatory(),
          option('--flavor <name>', 'its size, where the provider makes it', { fallback: 'small' }),
          option('--image <name>', 'what it is made from, where the provider makes it', { fallback: 'host' }),
          option('--field <name=value...>', 'fields of the provider for users'),
          option(
            '--system <automator>',
            "who does the system's part in loading and capturing; none for what has no system",
            { fallback: 'linux' },
          ),
          option(
            '--default-image <name[@revision]>',
            'what it is loaded with after a reservation (default: what it is made from)',
            { parse: parseImage },
          ),
          option(
            '--correct <drift>',
            'what is corrected without being asked, with commas: gone, power, image (default: none)',
            { parse: parseDrift },
          ),
          ...waitOptions,
        ],
        load: async () => (await import('./registration.js')).add,
      }),
      command('list', 'the machines', { alias: 'ls', load: async () => (await import('./show.js')).list }),
      command('show <name>', 'where it stands, what it does and did', {
        load: async () => (await import('./show.js')).show,
      }),
      command('status <name>', 'what is on it', {
        more: ': READY, POST_LOAD, RELOAD or UNKNOWN, with the evidence',
        options: [
          option(
            '--image <name[@revision]>',
            'the image it should have (default: the one it was loaded with)',
            { parse: parseImage },
          ),
          ...waitOptions,
        ],
        load: async () => (await import('./operate.js')).status,
      }),
      command('power <name>', 'its power', {
        more: ': on, off, reset, or only a look',
        arguments: [new Argument('[verb]', 'what to do').choices(powerVerbs).default('status')],
        options: waitOptions,
        load: async () => (await import('./operate.js')).power,
      }),
      command('load <name>', 'bring an image onto it', {
        more: '; nothing is done if it has the image, or if that is unknown',
        arguments: [argument('<image>', 'name, or name@revision', parseImage)],
        options: [
          option('--force', 'write the image whatever is there'),
          option('--within <duration>', 'longest time over all, such as 45m'),
          ...waitOptions,
        ],
        load: async () => (await import('./operate.js')).load,
      }),
      command('capture <name>', 'make an image of it', {
        more: ' that does not exist yet, and prove it by loading it there',
        arguments: [argument('<image>', 'name, or name@revision', parseImage)],
        options: [
          option('--no-prove', 'leave the proof out; the machine stays in maintenance'),
          option('--within <duration>', 'longest time over all, such as 2h'),
          ...waitOptions,
        ],
        load: async () => (await import('./operate.js')).capture,
      }),
      command('unload <name>', 'take out what its user left', {
        options: waitOptions,
        load: async () => (await import('./operate.js')).unload,
      }),
      command('correct <name>', 'which drift is corrected without being asked', {
        arguments: [argument('<drift>', 'gone, power, image with commas, or none', parseDrift)],
        options: waitOptions,
        load: async () => (await import('./operate.js')).correct,
      }),
      command('reserve <name>', 'keep it for a user', {
        options: [userOption, ...waitOptions],
        load: async () => (await import('./operate.js')).reserve,
      }),
      command('log-in <name>', 'create an account for the user', {
        more: ': its image counts as tainted',
        options: [
          userOption,
          option(
            '--key <file>',
            "the user's public key, such as ~/.ssh/id_ed25519.pub (default: a password)",
          ),
          ...waitOptions,
        ],
        load: async () => (await import('./operate.js')).logIn,
      }),
      command('release <name>', 'the user did not come: free it again', {
        options: waitOptions,
        load: async () => (await import('./operate.js')).release,
      }),
      command('maintain <name>', 'take it out of use', {
        options: [option('--reason <text>', 'why', { fallback: 'maintenance work' }), ...waitOptions],
        load: async () => (await import('./operate.js')).maintain,
      }),
      command('restore <name>', 'take it back into use', {
        options: waitOptions,
        load: async () => (await import('./operate.js')).restore,
      }),
      command('cancel <name>', 'end what it is doing', {
        more: '; a load that has begun to write leaves it failed',
        options: waitOptions,
        load: async () => (await import('./operate.js')).cancel,
      }),
      command('move <name>', 'another provider account gets it', {
        more: ', while it is free: to another provisioning system or another site',
        options: [
          option('--provider <name>', 'the account that gets it').makeOptionMandatory(),
          option('--flavor <name>', 'its size, where the provider makes it (default: as before)'),
          option('--image <name>', 'what it is made from, where the provider makes it (default: as before)'),
          option(
            '--field <name=value...>',
            'fields of the provider for users (default: as before at the same account, else none)',
          ),
          ...waitOptions,
        ],
        load: async () => (await import('./registration.js')).move,
      }),
      command('remove <name>', 'register it no longer', {
        more: '; the provider deletes it, or gets it back',
        options: [option('--force', 'also while it is in use'), ...waitOptions],
        load: async () => (await import('./operate.js')).remove,
      }),
    ],
  }),
  command('computers', 'which provisioning system has which machine', {
    more: ', and which site serves which systems',
    load: async () => (await import('./computers.js')).computers,
  }),
];
