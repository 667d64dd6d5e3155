import { z } from 'zod';
import { defaultRunFolders } from '../model/node/run-folders.js';
import { madeFolderSchema } from './config-accounts.js';
import { bucketSchema } from './config-bucket.js';

/** What a worker keeps. */
export const storeSchema = z
  .strictObject({
    folder: madeFolderSchema
      .exactOptional()
      .meta({
        title: 'Folder',
        description: 'Where logs and resources are on a worker; store in the data folder unless given.',
      }),
    s3: bucketSchema.exactOptional(),
    logDays: z
      .int()
      .min(1)
      .max(3_650)
      .default(90)
      .meta({
        title: 'Log days',
        description: 'How long a log of a task is kept in the folder after its last line, in days.',
      }),
    logFiles: z
      .int()
      .min(100)
      .max(10_000_000)
      .default(100_000)
      .meta({
        title: 'Log files',
        description: 'Most logs of tasks in the folder; of more, the oldest are removed.',
      }),
    logMb: z
      .int()
      .min(1)
      .max(10_485_760)
      .default(20_480)
      .meta({
        title: 'Log size',
        description: 'Most MiB of logs of tasks in the folder; of more, the oldest are removed.',
      }),
  })
  .prefault({})
  .meta({ title: 'Store', description: 'Where logs and files are kept.' });

/** What scripts leave on nodes. */
export const runFoldersSchema = z
  .strictObject({
    days: z
      .int()
      .min(1)
      .max(90)
      .default(defaultRunFolders.days)
      .meta({ title: 'Days', description: 'How long the folder of a run is kept on its node, in days.' }),
    count: z
      .int()
      .min(10)
      .max(10_000)
      .default(defaultRunFolders.count)
      .meta({ title: 'Count', description: 'Most folders of runs on a node.' }),
    sizeMb: z
      .int()
      .min(10)
      .max(1_048_576)
      .default(defaultRunFolders.sizeMb)
      .meta({ title: 'Size', description: 'Most MiB that the folders of runs take together on a node.' }),
    outputMb: z
      .int()
      .min(1)
      .max(10_240)
      .default(defaultRunFolders.outputMb)
      .meta({
        title: 'Output',
        description:
          "Most MiB of each of a script's output streams that stay on the node after its end: the first and the last half.",
      }),
  })
  .prefault({})
  .meta({
    title: 'Run folders',
    description: 'What the folders of runs of scripts may take on a node; beyond it the oldest are removed.',
  });
