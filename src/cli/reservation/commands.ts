import {
  labelOption,
  option,
  parser,
  splitList,
  wholeNumber,
  command,
  type CommandDefinition,
} from '../command.js';

const parseNames = parser('It must be a list of names, separated by commas.', splitList);

export const reservationCommands: CommandDefinition = command(
  'reservation',
  'reserve machines for a user and a period',
  {
    page: 'guides/reservations.md',
    description: 'reserve machines with an image for a user and a period',
    commands: [
      command('create <image[@revision]>', 'reserve machines', {
        examples: ['heddle reservation create base@2 --user ada --count 2 --group rack2 --for 8h'],
        more: ', all or none; returns once they are reserved',
        options: [
          option('--user <user>', 'the user').makeOptionMandatory(),
          option(
            '--machine <machines>',
            'these machines, separated by commas, or GROUP@N for N machines of a group (default: any suitable)',
            { parse: parseNames },
          ),
          option('--count <number>', 'number of machines', {
            parse: wholeNumber('It must be a whole number of at least 1.', 1, 9_999),
          }),
          option('--group <group>', 'machines of this group'),
          labelOption('machines with this label; may be repeated'),
          option('--site <site>', 'machines of this site'),
          option('--provider <account>', 'machines of this provider account'),
          option('--system <type>', 'machines of this provisioning system, such as ipmi'),
          option(
            '--can <actions>',
            'machines with these abilities, separated by commas, such as POWER_RESET,CAPTURE',
            { parse: parseNames },
          ),
          option(
            '--from <moment>',
            'begin, such as 2026-07-01T09:00:00Z, or 2026-07-01 09:00 in local time (default: now)',
          ),
          option('--to <moment>', 'end'),
          option('--for <duration>', 'length, such as 2h'),
        ],
        json: ['reservation'],
        load: async () => (await import('./create.js')).create,
      }),
      command('list', 'list reservations', {
        examples: ['heddle reservation list --user ada'],
        alias: 'ls',
        options: [
          option('--all', 'also those that have ended'),
          option('--user <user>', 'reservations of this user only'),
          option('--machine <machine>', 'reservations of this machine only'),
        ],
        json: ['reservations'],
        load: async () => (await import('./show.js')).list,
      }),
      command('show <reservation>', 'show the state and the events of a reservation', {
        examples: ['heddle reservation show r1'],
        json: ['reservation'],
        load: async () => (await import('./show.js')).show,
      }),
      command('ready <reservation>', 'wait until the user of a reservation may log in', {
        examples: ['heddle reservation ready r1'],
        json: ['reservation'],
        load: async () => (await import('./show.js')).ready,
      }),
      command('log-in <reservation>', 'show the login for the user of a reservation', {
        examples: ['heddle reservation log-in r1 --key ~/.ssh/id_ed25519.pub'],
        more: '; its machines then count as used',
        options: [
          option(
            '--key <file>',
            "the user's public key, such as ~/.ssh/id_ed25519.pub (default: a password)",
          ),
        ],
        json: ['reservation-log-in'],
        load: async () => (await import('./create.js')).logIn,
      }),
      command('extend <reservation>', 'extend a reservation', {
        examples: ['heddle reservation extend r1 --by 1h'],
        more: '; refused if it would overlap the next one',
        options: [
          option('--to <moment>', 'new end'),
          option('--by <duration>', 'additional time, such as 1h'),
        ],
        json: ['reservation'],
        load: async () => (await import('./change.js')).extend,
      }),
      command('cancel <reservation>', 'cancel a reservation that is not ready yet', {
        examples: ['heddle reservation cancel r1'],
        json: ['reservation'],
        load: async () => (await import('./change.js')).cancel,
      }),
      command('return <reservation>', 'end a reservation that has begun', {
        examples: ['heddle reservation return r1'],
        json: ['reservation'],
        load: async () => (await import('./change.js')).returnEarly,
      }),
    ],
  },
);
