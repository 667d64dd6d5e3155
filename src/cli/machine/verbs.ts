import { Argument, InvalidArgumentError, type Command } from 'commander';
import { driftKinds, type DriftKind, powerVerbs } from '../../model/machine/state.js';
import { parseImageRef, type ImageRef } from '../../model/machine/image.js';
import { withCommonOptions, withWait, type Run } from '../options.js';

/** Verbs about machines that are registered by themselves. */
export function addMachineVerbs(program: Command, run: Run): void {
  program.commandsGroup('Machines and images:');
  const machine = program
    .command('machine')
    .summary('machines and what is on them')
    .description('machines that are registered by themselves, and the images on them');
  const server = (command: Command): Command => withCommonOptions(command, 'server');
  const verb = (name: string, summary: string, more = ''): Command =>
    machine.command(name).summary(summary).description(`${summary}${more}`);

  server(
    withWait(
      verb('add <name>', 'register a machine', ': one that the provider makes, or one that it has')
        .requiredOption('--provider <name>', 'the provider account that it comes from')
        .option('--flavor <name>', 'its size, where the provider makes it', 'small')
        .option('--image <name>', 'what it is made from, where the provider makes it', 'host')
        .option('--field <name=value...>', 'fields of the provider for users')
        .option(
          '--system <automator>',
          "who does the system's part in loading and capturing; none for what has no system",
          'linux',
        )
        .option(
          '--default-image <name[@revision]>',
          'what it is loaded with after a reservation (default: what it is made from)',
          parseImage,
        )
        .option(
          '--correct <drift>',
          'what is corrected without being asked, with commas: gone, power, image (default: none)',
          parseDrift,
        ),
    ),
  ).action((name, options) => run(async () => (await import('./registration.js')).add(name, options)));
  server(verb('list', 'the machines').alias('ls')).action((options) =>
    run(async () => (await import('./show.js')).list(options)),
  );
  server(verb('show <name>', 'where it stands, what it does and did')).action((name, options) =>
    run(async () => (await import('./show.js')).show(name, options)),
  );
  server(
    withWait(
      verb(
        'status <name>',
        'what is on it',
        ': READY, POST_LOAD, RELOAD or UNKNOWN, with the evidence',
      ).option(
        '--image <name[@revision]>',
        'the image it should have (default: the one it was loaded with)',
        parseImage,
      ),
    ),
  ).action((name, options) => run(async () => (await import('./operate.js')).status(name, options)));
  server(
    withWait(
      verb('power <name>', 'its power', ': on, off, reset, or only a look').addArgument(
        new Argument('[verb]', 'what to do').choices(powerVerbs).default('status'),
      ),
    ),
  ).action((name, to, options) =>
    run(async () => (await import('./operate.js')).operate(name, { kind: 'power', verb: to }, options)),
  );
  server(
    withWait(
      verb(
        'load <name>',
        'bring an image onto it',
        '; nothing is done where it has the image, or where nobody can tell',
      )
        .argument('<image>', 'name, or name@revision', parseImage)
        .option('--force', 'write the image whatever is there')
        .option('--within <duration>', 'longest time over all, such as 45m'),
    ),
  ).action((name, image, options) =>
    run(async () => (await import('./operate.js')).load(name, image, options)),
  );
  server(
    withWait(
      verb(
        'capture <name>',
        'make an image of it',
        ' that does not exist yet, and prove it by loading it there',
      )
        .argument('<image>', 'name, or name@revision', parseImage)
        .option('--no-prove', 'leave the proof out; the machine stays in maintenance')
        .option('--within <duration>', 'longest time over all, such as 2h'),
    ),
  ).action((name, image, options) =>
    run(async () => (await import('./operate.js')).capture(name, image, options)),
  );
  server(withWait(verb('unload <name>', 'take out what its user left'))).action((name, options) =>
    run(async () => (await import('./operate.js')).operate(name, { kind: 'unload' }, options)),
  );
  server(
    withWait(
      verb('correct <name>', 'which drift is corrected without being asked').argument(
        '<drift>',
        'gone, power, image with commas, or none',
        parseDrift,
      ),
    ),
  ).action((name, drift, options) =>
    run(async () => (await import('./operate.js')).operate(name, { kind: 'correct', drift }, options)),
  );
  addStateVerbs(verb, server, run);
  server(
    withWait(
      verb('cancel <name>', 'end what it is doing', '; a load that has begun to write leaves it failed'),
    ),
  ).action((name, options) => run(async () => (await import('./operate.js')).cancel(name, options)));
  server(
    withWait(
      verb(
        'move <name>',
        'another provider account gets it',
        ', when nobody has it: another provisioning system, or another site',
      )
        .requiredOption('--provider <name>', 'the account that gets it')
        .option('--flavor <name>', 'its size, where the provider makes it (default: as before)')
        .option('--image <name>', 'what it is made from, where the provider makes it (default: as before)')
        .option(
          '--field <name=value...>',
          'fields of the provider for users (default: as before at the same account, else none)',
        ),
    ),
  ).action((name, options) => run(async () => (await import('./registration.js')).move(name, options)));
  server(
    withWait(
      verb('remove <name>', 'register it no longer', '; the provider deletes it, or gets it back').option(
        '--force',
        'also while somebody has it',
      ),
    ),
  ).action((name, options) =>
    run(async () =>
      (await import('./operate.js')).operate(
        name,
        { kind: 'remove', ...(options.force === true ? { force: true as const } : {}) },
        options,
      ),
    ),
  );

  server(
    program
      .command('computers')
      .summary('which provisioning system has which machine')
      .description('which provisioning system has which machine, and which site serves which systems'),
  ).action((options) => run(async () => (await import('./computers.js')).computers(options)));
}

/** What people and those who give machines away say of who has one. */
function addStateVerbs(
  verb: (name: string, summary: string, more?: string) => Command,
  server: (command: Command) => Command,
  run: Run,
): void {
  server(
    withWait(verb('reserve <name>', 'keep it for a user').requiredOption('--user <name>', 'the user')),
  ).action((name, options) =>
    run(async () =>
      (await import('./operate.js')).operate(name, { kind: 'reserve', user: options.user }, options),
    ),
  );
  server(
    withWait(
      verb('log-in <name>', 'create an account for the user', ': its image counts as tainted')
        .requiredOption('--user <name>', 'the user')
        .option('--key <file>', "the user's public key, such as ~/.ssh/id_ed25519.pub (default: a password)"),
    ),
  ).action((name, options) => run(async () => (await import('./log-in.js')).logIn(name, options)));
  server(withWait(verb('release <name>', 'nobody came: it is free again'))).action((name, options) =>
    run(async () => (await import('./operate.js')).operate(name, { kind: 'release' }, options)),
  );
  server(
    withWait(
      verb('maintain <name>', 'take it out of use').option('--reason <text>', 'why', 'somebody works on it'),
    ),
  ).action((name, options) =>
    run(async () =>
      (await import('./operate.js')).operate(name, { kind: 'maintain', reason: options.reason }, options),
    ),
  );
  server(withWait(verb('restore <name>', 'take it back into use'))).action((name, options) =>
    run(async () => (await import('./operate.js')).operate(name, { kind: 'restore' }, options)),
  );
}

function parseDrift(text: string): readonly DriftKind[] {
  if (text === 'none') return [];
  const words = text.split(',').map((word) => word.trim());
  const kinds = driftKinds.filter((kind) => words.includes(kind));
  if (kinds.length === words.length) return kinds;
  throw new InvalidArgumentError(`It is ${driftKinds.join(', ')} with commas, or none.`);
}

function parseImage(text: string): ImageRef {
  const image = parseImageRef(text);
  if (image !== undefined) return image;
  throw new InvalidArgumentError(
    'It is an image: name, or name@revision; letters, digits, dots, underscores and hyphens.',
  );
}
