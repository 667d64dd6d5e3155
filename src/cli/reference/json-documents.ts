import type { JsonObject } from '../../model/json.js';
import { publishedOutputSchemas } from '../../schema/publish.js';
import { outputVersion } from '../../schema/output/version.js';
import { commandName, type CommandDefinition } from '../command.js';
import { commands } from '../program.js';
import { keyRows } from './keys.js';
import { code, table } from './markdown.js';

/**
 * A section for each document that commands write with --json, then one for each object that several share.
 */
export function documentParts(): string {
  const shared: Record<string, JsonObject> = {};
  const documents = Object.entries(publishedOutputSchemas()).map(([file, text]) => {
    const name = file.replace(/^.*\/|\.schema\.json$/g, '');
    const schema = JSON.parse(text) as JsonObject;
    Object.assign(shared, schema['definitions'] ?? {});
    const link = `[JSON Schema](../../schemas/output/v${outputVersion}/${name}.schema.json)`;
    return [`## ${name}`, `${writtenBy(name)}${link}`, ...variantTables(schema)].join('\n\n');
  });
  const objects = Object.entries(shared)
    .toSorted(([one], [other]) => one.localeCompare(other, 'en'))
    .map(([name, schema]) => [`## Object ${name}`, ...variantTables(schema)].join('\n\n'));
  return [...documents, ...objects].join('\n\n');
}

function variantTables(schema: JsonObject): readonly string[] {
  const isError = Object.keys((schema['properties'] ?? {}) as JsonObject).length === 2;
  const variants = Array.isArray(schema['anyOf']) ? (schema['anyOf'] as readonly JsonObject[]) : [schema];
  const tables = variants.map((variant) => {
    const rows = keyRows(variant, (name) => `[${name}](#object-${name})`)
      // Every document has them; that of an error has nothing else.
      .filter(({ path }) => path !== 'schemaVersion' && (path !== 'error' || isError));
    return table(
      ['member', 'type', 'meaning'],
      rows.map(({ path, type, fallback, meaning }) => [
        code(path),
        fallback === 'required' ? type : `${type}, optional`,
        meaning,
      ]),
    );
  });
  return tables.flatMap((text, at) => (at === 0 ? [text] : ['Or:', text]));
}

function writtenBy(name: string): string {
  const all = commands.flatMap((definition) => writersIn(name, definition, ''));
  const links = all.map((path) => `[${path}](commands/${path.split(' ', 1).join()}.md)`);
  return links.length === 0 ? '' : `Written by ${links.join(', ')}. `;
}

function writersIn(name: string, definition: CommandDefinition, parent: string): readonly string[] {
  const { hidden, json = [], commands: inner = [] } = definition;
  if (hidden === true) return [];
  const path = `${parent}${commandName(definition)}`;
  const own = json.some((one) => one === name) ? [path] : [];
  return [...own, ...inner.flatMap((one) => writersIn(name, one, `${path} `))];
}
