import { option, parser, splitList, wholeNumber, command, type CommandDefinition } from '../command.js';

const parseNames = parser('It names some, with commas between them.', splitList);

export const reservationCommands: CommandDefinition = command(
  'reservation',
  'machines for a user, from a time to a time',
  {
    description: 'machines with an image, for a user, from a time to a time',
    commands: [
      command('create <image>', 'reserve machines', {
        more: ', all that are wanted or none; returns as soon as they are reserved',
        options: [
          option('--user <name>', 'who gets them').makeOptionMandatory(),
          option('--machine <names>', 'these machines, with commas (default: any that fits)', {
            parse: parseNames,
          }),
          option('--count <n>', 'so many machines at once', {
            parse: wholeNumber('It is a whole number from 1 on.', 1, 9_999),
          }),
          option('--site <name>', 'of this site'),
          option('--provider <name>', 'of this provider account'),
          option('--system <type>', 'of this provisioning system, such as ipmi'),
          option('--can <actions>', 'that can do this, with commas, such as POWER_RESET,CAPTURE', {
            parse: parseNames,
          }),
          option('--from <moment>', '2026-07-01T09:00:00Z, or 2026-07-01 09:00 here (default: at once)'),
          option('--to <moment>', 'its end'),
          option('--for <duration>', 'its length, such as 2h'),
        ],
        load: async () => (await import('./create.js')).create,
      }),
      command('list', 'the reservations', {
        alias: 'ls',
        options: [
          option('--all', 'those that are over, too'),
          option('--user <name>', 'of this user'),
          option('--machine <name>', 'of this machine'),
        ],
        load: async () => (await import('./show.js')).list,
      }),
      command('show <id>', 'where it stands, and what happened', {
        load: async () => (await import('./show.js')).show,
      }),
      command('ready <id>', 'wait until its user may log in', {
        load: async () => (await import('./show.js')).ready,
      }),
      command('log-in <id>', 'how its user logs in', {
        more: ': from then on its machines count as used',
        options: [
          option(
            '--key <file>',
            "the user's public key, such as ~/.ssh/id_ed25519.pub (default: a password)",
          ),
        ],
        load: async () => (await import('./create.js')).logIn,
      }),
      command('extend <id>', 'let it last longer', {
        more: '; refused where it would overlap the next one',
        options: [
          option('--to <moment>', 'its new end'),
          option('--by <duration>', 'so much longer, such as 1h'),
        ],
        load: async () => (await import('./change.js')).extend,
      }),
      command('cancel <id>', 'end one that has not begun', {
        load: async () => (await import('./change.js')).cancel,
      }),
      command('return <id>', 'end one before its time is over', {
        load: async () => (await import('./change.js')).returnEarly,
      }),
    ],
  },
);
