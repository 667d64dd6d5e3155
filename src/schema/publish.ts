import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { configSchema } from './config.js';
import { descriptorSchema } from './descriptor.js';
import { imageSchema } from './image/spec.js';
import { machinesFileSchema } from './machine/registration.js';
import { documentSchemas } from './output/documents.js';
import { outputVersion } from './output/version.js';
import { pluginSuiteSchema } from './plugin-suite.js';
import { poolsSchema } from './pool/spec.js';
import { clusterSchema } from './cluster/spec.js';

/**
 * The JSON Schemas that editors complete and check by, as text, by file name. Draft 7 is what editors know
 * best.
 */
export function publishedSchemas(): Readonly<Record<string, string>> {
  return {
    'cluster.schema.json': print(withExpressions({ ...toJsonSchema(clusterSchema), ...fileKeys })),
    'image.schema.json': publish(imageSchema, fileKeys),
    'heddle.schema.json': publish(configSchema, fileKeys),
    'machines.schema.json': publish(machinesFileSchema),
    'plugin.schema.json': publish(descriptorSchema),
    'plugin-suite.schema.json': publish(pluginSuiteSchema, fileKeys),
    'pools.schema.json': publish(poolsSchema, fileKeys),
  };
}

/** The JSON Schemas of what `heddle --json` writes, likewise; unknown members are allowed. */
export function publishedOutputSchemas(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    documentSchemas().map(([name, schema]) => [
      `output/v${outputVersion}/${name}.schema.json`,
      publish(schema, { $id: `urn:heddle:output:v${outputVersion}:${name}` }),
    ]),
  );
}

/** What `readYamlFile` leaves out. */
const fileKeys = { patternProperties: { '^x-': {} } };

function publish(schema: z.ZodType, more: JsonObject = {}): string {
  return print({ ...toJsonSchema(schema), ...more });
}

function print(schema: Json): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function toJsonSchema(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const duration = defaultDuration(zodSchema);
      if (duration !== undefined) jsonSchema.default ??= duration;
    },
  }) as JsonObject;
}

/**
 * The default of a duration as users write it. Zod leaves it out, because the parsed value has another form.
 */
function defaultDuration(schema: z.core.$ZodType): string | undefined {
  const { def } = schema._zod;
  if (def.type === 'default') {
    const { defaultValue, innerType } = def as z.core.$ZodDefaultDef;
    const isDuration = typeof defaultValue === 'number' && innerType._zod.def.type === 'pipe';
    return isDuration ? writeDuration(defaultValue) : undefined;
  }
  const written = z.globalRegistry.get(schema)?.['default'];
  return typeof written === 'string' ? written : undefined;
}

/** Seconds in the largest unit that gives a whole number. */
function writeDuration(seconds: number): string {
  const [unit, size] = durationUnits.find(([, one]) => seconds >= one && seconds % one === 0) ?? ['s', 1];
  return `${seconds / size}${unit}`;
}

const durationUnits = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/** `${{ var.size }}`, wherever a value is not any text already. */
const expression = { type: 'string', pattern: '\\$\\{\\{.*\\}\\}' } as const;

/** Lets expressions stand for values. Variables are what they are made of, and names are not values. */
function withExpressions(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((item: Json) => withExpressions(item));
  if (!isJsonObject(schema)) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'variables' || key === 'propertyNames' ? value : withExpressions(value),
    ]),
  );
  const isNarrow =
    ['integer', 'number', 'boolean'].some((type) => type === inner['type']) ||
    (inner['type'] === 'string' && ('pattern' in inner || 'enum' in inner));
  if (!isNarrow) return inner;
  const { title, description, default: fallback, ...rest } = inner;
  const about = Object.entries({ title, description, default: fallback }).filter(
    ([, value]) => value !== undefined,
  );
  return { ...Object.fromEntries(about), anyOf: [rest, expression] };
}

/** Run as a program, it writes them into the folder that is named: `node dist/schema/publish.js schemas`. */
const [program, folder] = process.argv.slice(1);
if (program !== undefined && folder !== undefined && import.meta.url === pathToFileURL(program).href) {
  for (const [name, text] of Object.entries({ ...publishedSchemas(), ...publishedOutputSchemas() })) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
