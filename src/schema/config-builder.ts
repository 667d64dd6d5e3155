import { z } from 'zod';
import { commandSchema, madeFolderSchema } from './config-accounts.js';
import { patternFault } from './field-constraints.js';
import { simpleNameSchema, variableNameSchema } from './names.js';

const patternSchema = z
  .string()
  .min(1)
  .max(1_000)
  .refine((pattern) => patternFault(pattern) === undefined, {
    error: ({ input }) => patternFault(String(input)) ?? 'is no pattern',
  });

const commandVariableSchema = variableNameSchema.refine((name) => !name.startsWith('HEDDLE_'), {
  error: 'Heddle itself sets variables that begin with HEDDLE_.',
});

const buildCommandSchema = z
  .strictObject({
    run: commandSchema.meta({
      title: 'Run',
      description: 'A program and its words: [/usr/local/bin/make-debian, --minimal].',
    }),
    variables: z
      .record(commandVariableSchema, patternSchema)
      .prefault({})
      .meta({
        title: 'Variables',
        description:
          'Variables that images may set, each with the regular expression (RE2) that its whole value matches: {SUITE: "[a-z]+"}. None by default.',
      }),
  })
  .meta({ title: 'Build command', description: 'A command that makes files of images: {run, variables}.' });

/** A command of the builders that makes files of images. */
export type BuildCommand = z.output<typeof buildCommandSchema>;

/** What builders of images need to know. */
export const builderSchema = z
  .strictObject({
    builds: z
      .int()
      .min(1)
      .max(100)
      .exactOptional()
      .meta({
        title: 'Builds',
        description:
          'Images that are built at once in a site; 1 unless given, and the same on all builders of a site.',
      }),
    uploads: z
      .int()
      .min(1)
      .max(100)
      .exactOptional()
      .meta({
        title: 'Uploads',
        description: 'Files of images on their way at once on one builder; 4 unless given.',
      }),
    folder: madeFolderSchema
      .exactOptional()
      .meta({
        title: 'Folder',
        description:
          'Where files of images are, the same for all builders of a site; images in the data folder unless given.',
      }),
    commands: z
      .record(simpleNameSchema, buildCommandSchema)
      .exactOptional()
      .meta({
        title: 'Commands',
        description:
          'Commands that make files of images, by the names that images use: {debian: {run, variables}}.',
      }),
  })
  .meta({
    title: 'Builder',
    description: 'What builders of images need to know: {builds, uploads, folder, commands}.',
  });
