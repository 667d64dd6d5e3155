import { option, waitOptions, wholeNumber, yesOption, command, type CommandDefinition } from '../command.js';

export const imageCommands: readonly CommandDefinition[] = [
  command('image', 'images, and how they are built', {
    commands: [
      command('apply <file>', 'bring an image to its file', {
        more: '; makes the image when there is none',
        load: async () => (await import('./change.js')).apply,
      }),
      command('build <name>', 'build it', {
        more: '; the request stays until a build has succeeded',
        options: waitOptions,
        load: async () => (await import('./build.js')).build,
      }),
      command('cancel <name>', 'end the build under way, and the request for it', {
        load: async () => (await import('./change.js')).cancel,
      }),
      command('list', 'the images', { alias: 'ls', load: async () => (await import('./show.js')).list }),
      command('show <name>', 'its builds, where they are, and where they come from', {
        load: async () => (await import('./show.js')).show,
      }),
      command('rollback <name>', 'delete the newest build', {
        more: ', so that the one before it is offered; nothing more is built until it is resumed',
        load: async () => (await import('./change.js')).rollBack,
      }),
      command('pause <name>', 'build nothing until it is resumed', {
        load: async () => (await import('./change.js')).pause,
      }),
      command('resume <name>', 'build again', { load: async () => (await import('./change.js')).resume }),
      command('delete <name>', 'delete an image with all its builds, or one build', {
        options: [
          option('--build <number>', 'only this build', {
            parse: wholeNumber('It is the number of a build.', 1, 999_999_999),
          }),
          yesOption,
          ...waitOptions,
        ],
        load: async () => (await import('./change.js')).remove,
      }),
    ],
  }),
  command('builder', 'the process that builds images on this machine', {
    commands: [
      command('start', 'start it, and leave it running; or run it until it is stopped', {
        options: [option('--foreground', 'stay, and write its log to standard output')],
        load: async () => (await import('./builder.js')).start,
      }),
      command('stop', 'stop it; commands that it runs go on, and the next builder waits for them', {
        needs: 'configuration',
        load: async () => (await import('./builder.js')).stop,
      }),
    ],
  }),
];
