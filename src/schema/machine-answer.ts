import { z } from 'zod';
import type {
  AccountsOutcome,
  CurrentReading,
  Knowledge,
  LoadOutcome,
  Outcome,
  PowerReading,
  SizeReading,
  UploadedImage,
} from '../model/machine/answer.js';
import { eraseMethods, type DiskToErase } from '../model/machine/erase.js';
import type { Hardware } from '../model/machine/hardware.js';
import { unsafeText } from '../model/safe-text.js';
import { PluginError } from '../plugins/errors.js';

const why = z
  .string()
  .transform((text) => text.slice(0, 2_000))
  .exactOptional();
const outcomeSchema = z.strictObject({ answer: z.enum(['done', 'not done', 'unknown']), why });
const knowledgeSchema = z.strictObject({ is: z.enum(['yes', 'no', 'unknown']), why });
const powerSchema = z.strictObject({ power: z.enum(['on', 'off', 'unknown']), why });
const sizeSchema = z.strictObject({ sizeMb: z.int().min(0).exactOptional(), why });
// A later CREATE passes it to the provider as the image.
const providerImage = z
  .string()
  .max(255)
  .refine((text) => unsafeText(text, { blanks: true }) === undefined, {
    error: 'must be a name without quotes and control characters that does not begin with a hyphen',
  });
const uploadedSchema = outcomeSchema.extend({ providerImage: providerImage.exactOptional() });
const disksSchema = z
  .array(
    z.strictObject({
      device: z
        .string()
        .max(255)
        .regex(/^\/[A-Za-z0-9/._:+-]+$/, {
          error: 'must be an absolute path of letters, digits and / . _ : + -',
        }),
      method: z.enum(eraseMethods),
      command: z.array(z.string().max(1_000)).min(1).max(50).exactOptional(),
    }),
  )
  .max(64);
const digest = z.string().regex(/^[A-Za-z0-9:_-]{1,128}$/);
const accountsSchema = outcomeSchema.extend({ accounts: digest.exactOptional() });
const loadSchema = outcomeSchema.extend({ untouched: z.literal(true).exactOptional() });
const imagesSchema = z.array(
  z.object({
    providerImage: z.string().min(1).max(255),
    tags: z.record(z.string(), z.string()),
    createdAt: z.string().exactOptional(),
  }),
);
const currentSchema = z.union([
  z.strictObject({
    is: z.literal('yes'),
    image: z.strictObject({ name: z.string().min(1).max(255), revision: z.string().min(1).max(255) }),
    tainted: z.array(z.string().max(1_000)).max(100).exactOptional(),
  }),
  z.strictObject({ is: z.literal('no') }),
  z.strictObject({ is: z.literal('unknown'), why }),
]);
const wordSchema = z
  .string()
  .transform((text) => text.slice(0, 200))
  .optional();

export interface AnswerSource {
  readonly plugin: string;
  readonly method: string;
}

/**
 * Validate answers of plugins about machines.
 * @throws PluginError UnknownOutcome if the answer is malformed.
 */
export const readOutcome = (value: unknown, source: AnswerSource): Outcome =>
  read(outcomeSchema, value, source);
export const readAccounts = (value: unknown, source: AnswerSource): AccountsOutcome =>
  read(accountsSchema, value, source);
export const readLoad = (value: unknown, source: AnswerSource): LoadOutcome =>
  read(loadSchema, value, source);
export const readUploaded = (
  value: unknown,
  source: AnswerSource,
): Outcome & { readonly providerImage?: string } => read(uploadedSchema, value, source);
export const readImages = (value: unknown, source: AnswerSource): readonly UploadedImage[] =>
  read(imagesSchema, value, source);
export const readKnowledge = (value: unknown, source: AnswerSource): Knowledge =>
  read(knowledgeSchema, value, source);
export const readDisks = (value: unknown, source: AnswerSource): readonly DiskToErase[] =>
  read(disksSchema, value, source);
export const readHardware = (value: unknown, source: AnswerSource): Hardware =>
  read(hardwareSchema, value, source);
export const readPower = (value: unknown, source: AnswerSource): PowerReading =>
  read(powerSchema, value, source);
export const readSize = (value: unknown, source: AnswerSource): SizeReading =>
  read(sizeSchema, value, source);
export const readCurrentImage = (value: unknown, source: AnswerSource): CurrentReading =>
  read(currentSchema, value, source);
export const readWord = (value: unknown, source: AnswerSource): string | undefined =>
  read(wordSchema, value, source);

function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { plugin, method }: AnswerSource,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.map(String).join('.') || 'result'}: ${message}`);
  throw new PluginError(
    'UnknownOutcome',
    `plugin ${plugin} returned an invalid result from ${method}: ${faults.join('; ')}`,
  );
}

/** Text of a controller, without control characters. */
const word = z.string().transform((text) =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 200),
);
const amount = z.number().min(0);
const list = <Item extends z.ZodType>(item: Item) => z.array(item).max(256).exactOptional();

/** The hardware of a machine as a provider reports it. */
const hardwareSchema = z.strictObject({
  manufacturer: word.exactOptional(),
  model: word.exactOptional(),
  serial: word.exactOptional(),
  firmware: word.exactOptional(),
  processors: z
    .strictObject({
      count: amount.exactOptional(),
      model: word.exactOptional(),
      cores: amount.exactOptional(),
    })
    .exactOptional(),
  memoryMb: amount.exactOptional(),
  disks: list(
    z.strictObject({
      name: word,
      model: word.exactOptional(),
      serial: word.exactOptional(),
      bytes: amount.exactOptional(),
      media: word.exactOptional(),
    }),
  ),
  interfaces: list(z.strictObject({ name: word, mac: word.exactOptional(), mbps: amount.exactOptional() })),
  parts: list(z.strictObject({ name: word, model: word.exactOptional(), serial: word.exactOptional() })),
  sensors: list(z.strictObject({ name: word, reading: word, status: word })),
});
