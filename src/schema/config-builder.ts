import { z } from 'zod';
import { commandSchema, madeFolderSchema } from './config-accounts.js';
import { patternFault } from './field-constraints.js';
import { simpleNameSchema, variableNameSchema } from './names.js';
import { section } from './section.js';

const patternSchema = z
  .string()
  .min(1)
  .max(1_000)
  .refine((pattern) => patternFault(pattern) === undefined, {
    error: ({ input }) => patternFault(String(input)) ?? 'is not a valid pattern',
  });

const commandVariableSchema = variableNameSchema.refine((name) => !name.startsWith('HEDDLE_'), {
  error: 'HEDDLE_ variables are reserved for Heddle.',
});

const buildCommandSchema = z
  .strictObject({
    run: commandSchema.meta({
      title: 'Run',
      description: 'A program and its arguments: [/usr/local/bin/make-debian, --minimal].',
    }),
    variables: z
      .record(commandVariableSchema, patternSchema)
      .prefault({})
      .meta({
        title: 'Variables',
        description:
          'Environment variables that images may set, each with the regular expression (RE2) that its whole value must match: {SUITE: "[a-z]+"}. Default: none.',
      }),
  })
  .meta({ title: 'Build command', description: 'A command that creates image files: {run, variables}.' });

/** A command of the builders that creates image files. */
export type BuildCommand = z.output<typeof buildCommandSchema>;

/** Settings of image builders. */
export const builderSchema = section(
  z
    .strictObject({
      builds: z
        .int()
        .min(1)
        .max(100)
        .default(1)
        .meta({
          title: 'Builds',
          description:
            'Maximum number of concurrent image builds in a site. Must be equal on all builders of a site.',
        }),
      uploads: z
        .int()
        .min(1)
        .max(100)
        .default(4)
        .meta({
          title: 'Uploads',
          description: 'Maximum number of concurrent uploads of image files on one builder.',
        }),
      folder: madeFolderSchema
        .exactOptional()
        .meta({
          title: 'Folder',
          description:
            'Folder of image files, shared by all builders of a site. Default: images in the data folder.',
        }),
      commands: section(z.record(simpleNameSchema, buildCommandSchema)).meta({
        title: 'Commands',
        description:
          'Commands that create image files, by the names that images use: {debian: {run, variables}}.',
      }),
    })
    .meta({
      title: 'Builder',
      description: 'Settings of image builders: {builds, uploads, folder, commands}.',
    }),
);
