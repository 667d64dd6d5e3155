import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import type { CommandDefinition } from '../../../src/cli/command.js';
import { commands, createProgram } from '../../../src/cli/program.js';
import { isJsonObject, type Json } from '../../../src/model/json.js';
import type { DocumentName } from '../../../src/schema/output/documents.js';

const folder = join(import.meta.dirname, '../../../schemas/output/v1');
const known = new Map<DocumentName, z.ZodType>();

/** The published schema, which here refuses members that it does not describe. */
export function documentSchema(name: DocumentName): z.ZodType {
  const schema = known.get(name) ?? readSchema(name);
  known.set(name, schema);
  return schema;
}

function readSchema(name: DocumentName): z.ZodType {
  const text = readFileSync(join(folder, `${name}.schema.json`), 'utf8');
  return z.fromJSONSchema(closed(JSON.parse(text) as Json) as z.core.JSONSchema.JSONSchema);
}

function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((item: Json) => closed(item));
  if (!isJsonObject(schema)) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return isJsonObject(inner['properties']) && inner['type'] === 'object'
    ? { ...inner, additionalProperties: false }
    : inner;
}

/** Documents that commands wrote in this test file, and that were as their schemas say. */
export const seenDocuments = new Set<DocumentName>();

/** Fails unless what a command wrote with --json is as the published schemas of the command say. */
export function expectDescribed(words: readonly string[], stdout: string): void {
  const definition = commandOf(words);
  if (!words.includes('--json') || stdout.trim() === '' || definition?.json?.length === 0) return;
  const names: readonly DocumentName[] = [...(definition?.json ?? []), 'error'];
  for (const document of documentsIn(stdout)) {
    const errors = names.map((name) => documentSchema(name).safeParse(document).error);
    const fitting = names.find((_name, index) => errors[index] === undefined);
    const problems = names.map((name, index) => `${name}: ${errors[index]?.message}`).join('\n');
    expect(fitting, `${words.join(' ')}: ${JSON.stringify(document)}\n${problems}`).toBeDefined();
    if (fitting !== undefined) seenDocuments.add(fitting);
  }
}

/** One document, or one on each line. */
function documentsIn(stdout: string): readonly unknown[] {
  try {
    return [JSON.parse(stdout)];
  } catch {
    return stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
  }
}

/** Common options that a value follows; they may stand before and between the words of a command. */
const valued = createProgram(() => Promise.resolve())
  .options.filter(({ required }) => required)
  .flatMap(({ long, short }) => [long ?? [], short ?? []].flat());

/** The command that the words select. */
function commandOf(words: readonly string[]): CommandDefinition | undefined {
  let found: CommandDefinition | undefined;
  for (const [index, word] of words.entries()) {
    if (word.startsWith('-') || valued.includes(words[index - 1] ?? '')) continue;
    const inner = (found === undefined ? commands : (found.commands ?? [])).find(
      ({ usage, alias }) => usage.split(' ')[0] === word || alias === word,
    );
    if (inner === undefined) break;
    found = inner;
  }
  return found;
}
