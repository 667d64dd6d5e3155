import { isDeepStrictEqual } from 'node:util';
import { isMap, parseDocument, YAMLMap, type Document } from 'yaml';
import type { JsonObject } from '../../model/json.js';
import type { Settings } from '../../schema/config.js';
import { readConfigFile } from '../../schema/read-config.js';
import { CliError } from '../errors.js';

/** An account's entry in heddle.yaml. */
export interface WrittenAccount {
  readonly type: string;
  readonly site?: string;
  readonly fields: JsonObject;
}

/** An entry of heddle.yaml with fields of a plugin. */
export interface SettingsEntry {
  readonly section: 'providers' | 'automators';
  readonly name: string;
}

/**
 * Adds an account to the text of heddle.yaml; comments and order stay. Of an existing account only type, site
 * and fields are replaced.
 * @throws CliError Refused if the text cannot be changed safely.
 */
export function putAccount(text: string, name: string, { type, site, fields }: WrittenAccount): string {
  return putEntry(text, { section: 'providers', name }, fields, (entry) => {
    entry.set('type', type);
    if (site === undefined) entry.delete('site');
    else entry.set('site', site);
  });
}

/** Writes the settings of an automator in the same way. */
export function putAutomator(text: string, name: string, fields: JsonObject): string {
  return putEntry(text, { section: 'automators', name }, fields, () => undefined);
}

function putEntry(
  text: string,
  place: SettingsEntry,
  fields: JsonObject,
  setOthers: (entry: YAMLMap) => void,
): string {
  return edit(text, place, (entries, document) => {
    const before: unknown = entries.get(place.name);
    const entry = isMap(before) ? before : new YAMLMap(document.schema);
    setOthers(entry);
    if (Object.keys(fields).length === 0) entry.delete('fields');
    else entry.set('fields', document.createNode(fields));
    if (before !== entry) entries.set(document.createNode(place.name), entry);
  });
}

/** The text of heddle.yaml without an account, or without the settings of an automator. */
export function dropEntry(text: string, place: SettingsEntry): string {
  return edit(text, place, (entries) => {
    entries.delete(place.name);
    // Without braces, the key of an empty mapping would have no value.
    if (entries.items.length === 0) entries.flow = true;
  });
}

function edit(
  text: string,
  place: SettingsEntry,
  change: (entries: YAMLMap, document: Document) => void,
): string {
  const { section, name } = place;
  const plain = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const document: Document = parseDocument(plain, { version: '1.2', merge: false, resolveKnownTags: false });
  const changed = attempt(name, () => {
    change(entriesOf(document, section), document);
    return document.toString(formatOf(plain));
  });
  refuseOtherChanges(plain, changed, place);
  return text.includes('\r\n') ? changed.replaceAll('\n', '\r\n') : changed;
}

function entriesOf(document: Document, section: SettingsEntry['section']): YAMLMap {
  if (document.contents === null) keepComments(document);
  const found: unknown = document.get(section);
  if (isMap(found)) {
    if (found.items.length === 0) found.flow = false;
    return found;
  }
  if (found !== undefined) throw new Error(`${section} has a form that cannot be edited here`);
  const made = new YAMLMap(document.schema);
  document.set(section, made);
  return made;
}

/** A file with only comments: they stay above the new text. */
function keepComments(document: Document): void {
  document.contents = new YAMLMap(document.schema);
  const { comment } = document;
  if (comment === null) return;
  document.comment = null;
  document.commentBefore = [document.commentBefore ?? '', comment].filter((part) => part !== '').join('\n');
}

/** The library rewrites documents; this keeps the style of the file as far as possible. */
function formatOf(text: string): {
  readonly lineWidth: number;
  readonly indent: number;
  readonly indentSeq: boolean;
  readonly flowCollectionPadding: boolean;
} {
  const indent = /^( {2,8})\S/m.exec(text)?.[1]?.length ?? 2;
  return {
    lineWidth: 0,
    indent,
    indentSeq: !/^( *)[^\s#-][^\n]*:\s*\n\1- /m.test(text),
    flowCollectionPadding: /[{[] \S/.test(text),
  };
}

function attempt(name: string, write: () => string): string {
  try {
    return write();
  } catch (cause) {
    throw refusal(name, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/** Reads the result again: only the one entry may have changed. */
function refuseOtherChanges(before: string, after: string, place: SettingsEntry): void {
  const [old, fresh] = [readConfigFile(before, 'before'), readConfigFile(after, 'after')];
  if (!fresh.ok) throw refusal(place.name, fresh.problems.map(({ wrong }) => wrong).join('; '));
  if (!old.ok || !isDeepStrictEqual(withoutEntry(old.config, place), withoutEntry(fresh.config, place)))
    throw refusal(place.name, 'other settings would change with it');
}

function withoutEntry(config: Settings, { section, name }: SettingsEntry): object {
  const others = Object.entries(config[section]).filter(([other]) => other !== name);
  return { ...config, [section]: Object.fromEntries(others) };
}

function refusal(name: string, reason: string, cause?: unknown): CliError {
  return new CliError(
    'Refused',
    `heddle.yaml was not changed, because ${name} cannot be written into it: ${reason}. Change it by hand.`,
    { cause },
  );
}
