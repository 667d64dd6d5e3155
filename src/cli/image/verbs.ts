import { InvalidArgumentError, type Command } from 'commander';
import { withCommonOptions, withWait, type Run } from '../options.js';

/** Verbs about images that are built, and about their builders. */
export function addImageVerbs(program: Command, run: Run): void {
  const image = program
    .command('image')
    .summary('images, and how they are built')
    .description('images, and how they are built');
  const server = (command: Command): Command => withCommonOptions(command, 'server');
  const verb = (name: string, summary: string, more = ''): Command =>
    image.command(name).summary(summary).description(`${summary}${more}`);

  server(verb('apply <file>', 'bring an image to its file', '; makes the image when there is none')).action(
    (file, options) => run(async () => (await import('./change.js')).apply(file, options)),
  );
  server(
    withWait(verb('build <name>', 'build it', '; the request stays until a build has succeeded')),
  ).action((name, options) => run(async () => (await import('./build.js')).build(name, options)));
  server(verb('cancel <name>', 'end the build under way, and the request for it')).action((name, options) =>
    run(async () => (await import('./change.js')).cancel(name, options)),
  );
  server(verb('list', 'the images').alias('ls')).action((options) =>
    run(async () => (await import('./look.js')).list(options)),
  );
  server(verb('show <name>', 'its builds, where they are, and where they come from')).action(
    (name, options) => run(async () => (await import('./look.js')).show(name, options)),
  );
  server(
    verb(
      'rollback <name>',
      'delete the newest build',
      ', so that the one before it is offered; nothing more is built until it is resumed',
    ),
  ).action((name, options) => run(async () => (await import('./change.js')).rollBack(name, options)));
  server(verb('pause <name>', 'build nothing until it is resumed')).action((name, options) =>
    run(async () => (await import('./change.js')).pause(name, options)),
  );
  server(verb('resume <name>', 'build again')).action((name, options) =>
    run(async () => (await import('./change.js')).resume(name, options)),
  );
  server(
    withWait(
      verb('delete <name>', 'delete an image with all its builds, or one build')
        .option('--build <number>', 'only this build', parseNumber)
        .option('-y, --yes', 'do not ask back'),
    ),
  ).action((name, options) => run(async () => (await import('./change.js')).remove(name, options)));

  const builder = program
    .command('builder')
    .summary('the process that builds images on this machine')
    .description('the process that builds images on this machine');
  server(
    builder
      .command('start')
      .description('start it, and leave it running; or run it until it is stopped')
      .option('--foreground', 'stay, and write its log to standard output'),
  ).action((options) => run(async () => (await import('./builder.js')).start(options)));
  withCommonOptions(
    builder
      .command('stop')
      .description('stop it; commands that it runs go on, and the next builder waits for them'),
    'configuration',
  ).action((options) => run(async () => (await import('./builder.js')).stop(options)));
}

function parseNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is the number of a build.');
}
