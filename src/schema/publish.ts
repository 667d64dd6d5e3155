import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { configSchema } from './config.js';
import { descriptorSchema } from './descriptor.js';
import { imageSchema } from './image/spec.js';
import { poolsSchema } from './pool/spec.js';
import { clusterSchema } from './cluster/spec.js';

/**
 * The JSON Schemas that editors complete and check by, as text, by file name. Draft 7 is what editors know
 * best.
 */
export function publishedSchemas(): Readonly<Record<string, string>> {
  return {
    'cluster.schema.json': publish(clusterSchema, fileKeys),
    'image.schema.json': publish(imageSchema, fileKeys),
    'heddle.schema.json': publish(configSchema, fileKeys),
    'plugin.schema.json': publish(descriptorSchema),
    'pools.schema.json': publish(poolsSchema, fileKeys),
  };
}

/** What `readYamlFile` leaves out. */
const fileKeys = { patternProperties: { '^x-': {} } };

function publish(schema: z.ZodType, more: object = {}): string {
  const json = z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' });
  return `${JSON.stringify({ ...json, ...more }, null, 2)}\n`;
}

/** Run as a program, it writes them into the folder that is named: `node dist/schema/publish.js schemas`. */
const [program, folder] = process.argv.slice(1);
if (program !== undefined && folder !== undefined && import.meta.url === pathToFileURL(program).href) {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(publishedSchemas())) writeFileSync(join(folder, name), text);
}
