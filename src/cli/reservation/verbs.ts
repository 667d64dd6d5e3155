import { InvalidArgumentError, type Command } from 'commander';
import { withCommonOptions, type Run } from '../options.js';

/** Verbs about reservations of machines. */
export function addReservationVerbs(program: Command, run: Run): void {
  const reservation = program
    .command('reservation')
    .summary('machines for a user, from a time to a time')
    .description('machines with an image, for a user, from a time to a time');
  const server = (command: Command): Command => withCommonOptions(command, 'server');
  const verb = (name: string, summary: string, more = ''): Command =>
    reservation.command(name).summary(summary).description(`${summary}${more}`);

  server(
    verb(
      'create <image>',
      'reserve machines',
      ', all that are wanted or none; returns as soon as they are reserved',
    )
      .requiredOption('--user <name>', 'who gets them')
      .option('--machine <names>', 'these machines, with commas (default: any that fits)', parseNames)
      .option('--count <n>', 'so many machines at once', parseCount)
      .option('--site <name>', 'of this site')
      .option('--provider <name>', 'of this provider account')
      .option('--system <type>', 'of this provisioning system, such as ipmi')
      .option('--can <actions>', 'that can do this, with commas, such as POWER_RESET,CAPTURE', parseNames)
      .option('--from <moment>', '2026-07-01T09:00:00Z, or 2026-07-01 09:00 here (default: at once)')
      .option('--to <moment>', 'its end')
      .option('--for <duration>', 'its length, such as 2h'),
  ).action((image, options) => run(async () => (await import('./create.js')).create(image, options)));
  server(
    verb('list', 'the reservations')
      .alias('ls')
      .option('--all', 'those that are over, too')
      .option('--user <name>', 'of this user')
      .option('--machine <name>', 'of this machine'),
  ).action((options) => run(async () => (await import('./look.js')).list(options)));
  server(verb('show <id>', 'where it stands, and what happened')).action((id, options) =>
    run(async () => (await import('./look.js')).show(id, options)),
  );
  server(verb('ready <id>', 'wait until its user may log in')).action((id, options) =>
    run(async () => (await import('./look.js')).ready(id, options)),
  );
  server(
    verb('log-in <id>', 'how its user logs in', ': from then on its machines count as used').option(
      '--key <file>',
      "the user's public key, such as ~/.ssh/id_ed25519.pub (default: a password)",
    ),
  ).action((id, options) => run(async () => (await import('./log-in.js')).logIn(id, options)));
  server(
    verb('extend <id>', 'let it last longer', '; refused where it would overlap the next one')
      .option('--to <moment>', 'its new end')
      .option('--by <duration>', 'so much longer, such as 1h'),
  ).action((id, options) => run(async () => (await import('./change.js')).extend(id, options)));
  server(verb('cancel <id>', 'end one that has not begun')).action((id, options) =>
    run(async () => (await import('./change.js')).cancel(id, options)),
  );
  server(verb('return <id>', 'end one before its time is over')).action((id, options) =>
    run(async () => (await import('./change.js')).giveBack(id, options)),
  );
}

function parseNames(text: string): readonly string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length > 0) return names;
  throw new InvalidArgumentError('It names some, with commas between them.');
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a whole number from 1 on.');
}
