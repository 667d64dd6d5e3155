import { z } from 'zod';

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
export const hardwareSchema = z.strictObject({
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
