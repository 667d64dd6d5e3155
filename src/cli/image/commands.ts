import {
  argument,
  option,
  waitOptions,
  wholeNumber,
  yesOption,
  command,
  type CommandDefinition,
} from '../command.js';

const uploadsOption = option('--uploads <account>', 'only uploads to this provider account');

export const imageCommands: readonly CommandDefinition[] = [
  command('image', 'build and manage images', {
    page: 'guides/images.md',
    commands: [
      command('apply', 'create or change an image from its file', {
        arguments: [argument('<file>', 'the image file')],
        examples: ['heddle image apply image.yaml'],
        json: ['image-apply'],
        load: async () => (await import('./change.js')).apply,
      }),
      command('build <image>', 'build an image', {
        examples: ['heddle image build web'],
        more: '; the request stays until a build succeeds',
        options: waitOptions,
        json: ['image-build'],
        load: async () => (await import('./build.js')).build,
      }),
      command('upload <image>', 'retry the failed uploads of the newest build', {
        examples: ['heddle image upload web'],
        options: waitOptions,
        json: ['image-upload'],
        load: async () => (await import('./upload.js')).upload,
      }),
      command('cancel <image>', 'cancel the running build and its request', {
        examples: ['heddle image cancel web'],
        json: ['image-change'],
        load: async () => (await import('./change.js')).cancel,
      }),
      command('list', 'list images', {
        examples: ['heddle image list'],
        alias: 'ls',
        json: ['images'],
        load: async () => (await import('./show.js')).list,
      }),
      command('show <image>', 'show the builds of an image, their providers and sources', {
        examples: ['heddle image show web'],
        json: ['image'],
        load: async () => (await import('./show.js')).show,
      }),
      command('rollback <image>', 'delete the newest build', {
        examples: ['heddle image rollback web'],
        more: ', so that the previous one is offered; builds are paused until resume',
        json: ['image-change'],
        load: async () => (await import('./change.js')).rollBack,
      }),
      command('pause <image>', 'pause builds, or uploads to one account, until resume', {
        examples: ['heddle image pause web --uploads cloud'],
        options: [uploadsOption],
        json: ['image-change'],
        load: async () => (await import('./change.js')).pause,
      }),
      command('resume <image>', 'resume builds, or uploads to one account', {
        examples: ['heddle image resume web'],
        options: [uploadsOption],
        json: ['image-change'],
        load: async () => (await import('./change.js')).resume,
      }),
      command('delete <image>', 'delete an image with all its builds, or one build', {
        examples: ['heddle image delete web --build 7'],
        options: [
          option('--build <number>', 'only this build', {
            parse: wholeNumber('It must be the number of a build.', 1, 999_999_999),
          }),
          yesOption,
          ...waitOptions,
        ],
        json: ['image-change'],
        load: async () => (await import('./change.js')).remove,
      }),
      command(
        'export <image>',
        'stop an image, and write its records for a move to another server or namespace',
        {
          examples: ['heddle image export web > web.json'],
          options: [
            option('--cancel', 'resume the image; only if its records were not restored anywhere'),
            yesOption,
          ],
          json: ['image-export'],
          load: async () => (await import('./move.js')).exportImage,
        },
      ),
      command('restore', 'start an image with the records of an exported one', {
        arguments: [argument('<file>', 'a file of image export')],
        examples: ['heddle image restore web.json'],
        json: ['image-restore'],
        load: async () => (await import('./move.js')).restore,
      }),
      command(
        'rescue',
        'build the rescue system, which physical machines boot to write an image to their disk',
        {
          examples: ['heddle image rescue /srv/rescue'],
          arguments: [argument('<folder>', 'folder that the system is written to')],
          more: ', from a kernel and busybox of this machine or of unpacked packages',
          needs: 'nothing',
          options: [
            option('--from <folder>', 'folder with boot/vmlinuz-*, lib/modules and a static bin/busybox', {
              fallback: '/',
            }),
            option('--kernel <version>', 'version of the kernel (default: the newest)'),
            option('--add <folder>', 'folder with further files, such as lib/firmware'),
          ],
          load: async () => (await import('./rescue.js')).rescue,
        },
      ),
    ],
  }),
  command('builder', 'run the process that builds images on this machine', {
    page: 'guides/images.md',
    commands: [
      command('start', 'start the builder in the background, or run it in the foreground', {
        examples: ['heddle builder start'],
        options: [option('--foreground', 'stay in the foreground, and write the log to standard output')],
        json: ['builder'],
        load: async () => (await import('./builder.js')).start,
      }),
      command('stop', 'stop the builder; its commands continue, and the next builder attaches to them', {
        examples: ['heddle builder stop'],
        needs: 'configuration',
        json: ['builder'],
        load: async () => (await import('./builder.js')).stop,
      }),
    ],
  }),
];
