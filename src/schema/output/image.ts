import { z } from 'zod';
import { count, millisecond, moment, texts, type View } from './exact.js';

const uploadSchema = z.object({
  provider: z.string(),
  type: z.string(),
  site: z.string(),
  /** `waiting`: requested, and not begun. */
  state: z.enum(['waiting', 'uploading', 'ready', 'failed', 'deleting']),
  image: z.string().optional().describe("The provider's ID of the image."),
  why: z.string().optional(),
});

const buildMembers = {
  number: count.describe('The revision of the image.'),
  /** `ready`: it was validated, and is offered. `deleting`: parts of it may still be somewhere. */
  state: z.enum(['building', 'ready', 'failed', 'cancelled', 'deleting']),
  startedAt: moment,
  endedAt: moment.optional(),
  step: z.string().optional(),
  why: z.string().optional().describe('Why it failed, or is deleted.'),
  sizeMb: z.number().optional(),
  /** Files on the builders of their sites. */
  files: z.array(
    z.object({ format: z.string(), path: z.string(), sha256: z.string(), bytes: count, site: z.string() }),
  ),
  uploads: z.array(uploadSchema),
  provenance: z.object({
    recipe: z.string().describe('A digest.'),
    /** For people: base and services, or the command. */
    source: z.string(),
    by: z.string(),
    /** The key of the machine it was captured on. */
    machine: z.string().optional(),
    /** Builder that made its files. */
    builder: z.string().optional(),
    validated: z.string().optional(),
  }),
  /** What went otherwise than planned and did not stop it. */
  notes: texts,
};
const buildSchema = z.object(buildMembers).meta({ id: 'build' });

/** One making of an image; its number is the image's revision. */
export type Build = View<typeof buildSchema>;

const imageSchema = z
  .object({
    name: z.string(),
    uid: z.string(),
    source: z.string().optional(),
    keep: count.optional().describe('Number of builds to keep.'),
    rebuildAge: z.number().optional().describe('Seconds.'),
    newest: count.optional().describe('The build that is offered.'),
    builds: z.array(buildSchema),
    paused: z.object({ by: z.string(), at: moment, why: z.string() }).optional(),
    pausedUploads: z
      .record(z.string(), z.object({ by: z.string(), at: moment }))
      .optional()
      .describe('Provider accounts to which uploads are paused.'),
    request: z
      .object({ by: z.string(), at: moment, failed: count, notBefore: millisecond.optional() })
      .optional()
      .describe('A requested build.'),
    leaving: z.object({ by: z.string(), at: moment }).optional().describe('The image is being deleted.'),
    exported: z
      .object({ id: z.string(), by: z.string(), at: millisecond })
      .optional()
      .describe('The image was exported: its builds belong to the image that restores them.'),
    restored: z
      .object({ from: z.string(), at: millisecond })
      .optional()
      .describe('The export that it was restored from.'),
    machines: texts.describe('Machines of builds.'),
    pools: texts.optional().describe('Pools that create nodes from it.'),
    doing: z.string().describe('Current activity, as text.'),
  })
  .meta({ id: 'image' });

/** The public view of an image; contains no fields of recipes, which may contain anything. */
export type ImageView = View<typeof imageSchema>;

const named = z.object({ name: z.string() });

export const imageDocuments = {
  builder: [
    z
      .object({ builder: z.object({ pid: count, site: z.string(), log: z.string() }) })
      .describe('Result of start.'),
    z
      .object({ builder: z.object({ pid: count }).nullable() })
      .describe('Result of stop; null if none was running.'),
  ],
  image: [z.object({ image: imageSchema })],
  'image-apply': [
    z.object({
      image: z.object({
        name: z.string(),
        uid: z.string(),
        unchanged: z.boolean(),
        withdrawn: texts.describe('Accounts removed from uploads, whose uploads are being deleted.'),
      }),
    }),
  ],
  'image-build': [
    z.object({ image: named, build: z.object(buildMembers) }).describe('The completed build.'),
    z.object({ image: named, build: z.object({ number: count }) }).describe('With --no-wait.'),
  ],
  'image-upload': [
    z
      .object({ image: named, build: count, uploads: z.array(uploadSchema) })
      .describe('The newest build, and the results of its uploads.'),
  ],
  'image-export': [
    z.object({
      image: named,
      id: z.string().describe('ID of the export.'),
      builds: count,
      records: z.string().describe('Encrypted.'),
    }),
    z.object({ image: named, cancelled: z.literal(true) }).describe('With --cancel.'),
  ],
  'image-restore': [
    z.object({
      image: named,
      id: z.string().describe('ID of the export.'),
      builds: count,
      unchanged: z.boolean().describe('Whether it was already restored from this export.'),
    }),
  ],
  'image-change': [z.object({ image: named, said: z.string().describe('Description of the change.') })],
  images: [
    z.object({ images: z.array(imageSchema), silent: texts.describe('Names of images that do not answer.') }),
  ],
};
