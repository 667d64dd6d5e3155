import { z } from 'zod';
import { defaultRunFolders } from '../model/node/run-folders.js';
import { madeFolderSchema } from './config-accounts.js';
import { bucketSchema } from './config-bucket.js';

/** Where a worker keeps logs and artifacts, and for how long. */
export const storeSchema = z
  .strictObject({
    folder: madeFolderSchema
      .exactOptional()
      .meta({
        title: 'Folder',
        description: 'Folder of task logs and of copies of artifacts. Default: store in the data folder.',
      }),
    s3: bucketSchema.exactOptional(),
    logDays: z
      .int()
      .min(1)
      .max(3_650)
      .default(90)
      .meta({
        title: 'Log days',
        description: 'Retention of a task log in the folder after its last line, in days.',
      }),
    logFiles: z
      .int()
      .min(100)
      .max(10_000_000)
      .default(100_000)
      .meta({
        title: 'Log files',
        description: 'Maximum number of task logs in the folder; the oldest are removed first.',
      }),
    logMb: z
      .int()
      .min(1)
      .max(10_485_760)
      .default(20_480)
      .meta({
        title: 'Log size',
        description:
          'Maximum total size of the task logs in the folder, in MiB; the oldest are removed first.',
      }),
  })
  .prefault({})
  .meta({ title: 'Store', description: 'Storage of task logs and artifacts.' });

/** Limits of the run folders that scripts leave on nodes. */
export const runFoldersSchema = z
  .strictObject({
    days: z
      .int()
      .min(1)
      .max(90)
      .default(defaultRunFolders.days)
      .meta({ title: 'Days', description: 'Retention of a run folder on its node, in days.' }),
    count: z
      .int()
      .min(10)
      .max(10_000)
      .default(defaultRunFolders.count)
      .meta({ title: 'Count', description: 'Maximum number of run folders on a node.' }),
    sizeMb: z
      .int()
      .min(10)
      .max(1_048_576)
      .default(defaultRunFolders.sizeMb)
      .meta({ title: 'Size', description: 'Maximum total size of the run folders on a node, in MiB.' }),
    outputMb: z
      .int()
      .min(1)
      .max(10_240)
      .default(defaultRunFolders.outputMb)
      .meta({
        title: 'Output',
        description:
          "Maximum size of each of a script's output streams that is kept on the node after it ends, in MiB: the first half and the last half.",
      }),
  })
  .prefault({})
  .meta({
    title: 'Run folders',
    description: 'Limits of the run folders of scripts on a node; the oldest are removed first.',
  });
