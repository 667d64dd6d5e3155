import { option, waitOptions, wholeNumber, yesOption, type CommandDefinition } from '../command.js';

export const imageCommands: readonly CommandDefinition[] = [
  {
    usage: 'image',
    about: 'images, and how they are built',
    commands: [
      {
        usage: 'apply <file>',
        about: 'bring an image to its file',
        more: '; makes the image when there is none',
        load: async () => (await import('./apply.js')).apply,
      },
      {
        usage: 'build <name>',
        about: 'build it',
        more: '; the request stays until a build has succeeded',
        options: waitOptions,
        load: async () => (await import('./build.js')).build,
      },
      {
        usage: 'cancel <name>',
        about: 'end the build under way, and the request for it',
        load: async () => (await import('./change.js')).cancel,
      },
      { usage: 'list', alias: 'ls', about: 'the images', load: async () => (await import('./show.js')).list },
      {
        usage: 'show <name>',
        about: 'its builds, where they are, and where they come from',
        load: async () => (await import('./show.js')).show,
      },
      {
        usage: 'rollback <name>',
        about: 'delete the newest build',
        more: ', so that the one before it is offered; nothing more is built until it is resumed',
        load: async () => (await import('./change.js')).rollBack,
      },
      {
        usage: 'pause <name>',
        about: 'build nothing until it is resumed',
        load: async () => (await import('./change.js')).pause,
      },
      {
        usage: 'resume <name>',
        about: 'build again',
        load: async () => (await import('./change.js')).resume,
      },
      {
        usage: 'delete <name>',
        about: 'delete an image with all its builds, or one build',
        options: [
          option('--build <number>', 'only this build', {
            parse: wholeNumber('It is the number of a build.', 1, 999_999_999),
          }),
          yesOption,
          ...waitOptions,
        ],
        load: async () => (await import('./change.js')).remove,
      },
    ],
  },
  {
    usage: 'builder',
    about: 'the process that builds images on this machine',
    commands: [
      {
        usage: 'start',
        about: 'start it, and leave it running; or run it until it is stopped',
        options: [option('--foreground', 'stay, and write its log to standard output')],
        load: async () => (await import('./builder.js')).start,
      },
      {
        usage: 'stop',
        about: 'stop it; commands that it runs go on, and the next builder waits for them',
        needs: 'configuration',
        load: async () => (await import('./builder.js')).stop,
      },
    ],
  },
];
