import type { Json, JsonObject } from '../../model/json.js';
import { groupIn, newGroups, type Groups } from './groups.js';
import { expandRanges } from './ranges.js';

/**
 * Reads an Ansible inventory in INI form.
 * @throws Error with the line.
 */
export function readIni(text: string): Groups {
  const groups = newGroups();
  let section: Section = { group: 'ungrouped', kind: 'hosts' };
  for (const [index, written] of text.split(/\r?\n/).entries()) {
    const line = written.trim();
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    try {
      const next = readSection(line);
      if (next === undefined) readLine(groups, section, line);
      else {
        section = next;
        groupIn(groups, section.group);
      }
    } catch (error) {
      throw new Error(`line ${index + 1}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
  return groups;
}

interface Section {
  readonly group: string;
  readonly kind: 'hosts' | 'children' | 'vars';
}

function readSection(line: string): Section | undefined {
  const [, group = '', kind = 'hosts'] = /^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:[#;].*)?$/.exec(line) ?? [];
  if (group === '') return undefined;
  if (kind === 'hosts' || kind === 'children' || kind === 'vars') return { group, kind };
  throw new Error(
    `[${group}:${kind}] is not a valid section; use [${group}], [${group}:children] or [${group}:vars]`,
  );
}

function readLine(groups: Groups, { group, kind }: Section, line: string): void {
  if (kind === 'children') {
    const [child = ''] = splitWords(line);
    groupIn(groups, child);
    groupIn(groups, group).children.add(child);
    return;
  }
  if (kind === 'vars') {
    const at = line.indexOf('=');
    if (at < 1) throw new Error('a variable must be NAME=VALUE');
    const own = groupIn(groups, group);
    own.vars = { ...own.vars, [line.slice(0, at).trim()]: valueOf(line.slice(at + 1).trim()) };
    return;
  }
  const [pattern = '', ...words] = splitWords(line);
  const { host, port } = splitPort(pattern);
  const vars: JsonObject = {
    ...(port === undefined ? {} : { ansible_port: port }),
    ...Object.fromEntries(words.map(readVariable)),
  };
  const { hosts } = groupIn(groups, group);
  for (const name of expandRanges(host)) hosts.set(name, { ...hosts.get(name), ...vars });
}

function readVariable(word: string): readonly [string, Json] {
  const at = word.indexOf('=');
  // The word is not quoted, because it may be part of a password with a space.
  if (at < 1) throw new Error('variables after a host must be NAME=VALUE; quote values with spaces');
  return [word.slice(0, at), valueOf(word.slice(at + 1))];
}

/** Numbers, true and false become such values, as in Ansible; everything else is text. */
function valueOf(text: string): Json {
  const [, , quoted] = /^(["'])(.*)\1$/.exec(text) ?? [];
  if (quoted !== undefined) return quoted;
  if (/^-?(0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  return text === 'True' ? true : text === 'False' ? false : text;
}

/** `host:22`, also with a range; an IPv6 address needs brackets before its port. */
function splitPort(pattern: string): { readonly host: string; readonly port?: number } {
  const [, bracketed, portAfter] =
    /^\[([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)\](?::(\d{1,5}))?$/.exec(pattern) ?? [];
  if (bracketed !== undefined)
    return { host: bracketed, ...(portAfter === undefined ? {} : { port: Number(portAfter) }) };
  const [, host, port] = /^((?:[^:[\]]|\[[^\]]*\])+):(\d{1,5})$/.exec(pattern) ?? [];
  return host === undefined ? { host: pattern } : { host, port: Number(port) };
}

/**
 * Splits words like a shell, without its expansions: quotes group words, and `#` outside of quotes starts a
 * comment, even within a word.
 */
export function splitWords(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let index = 0; index < line.length; index += 1) {
    const character = line.charAt(index);
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else if (character === '\\' && quote === '"' && /["\\]/.test(line.charAt(index + 1)))
        word = (word ?? '') + line.charAt((index += 1));
      else word = (word ?? '') + character;
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === '#') break;
    else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (character === '\\') word = (word ?? '') + line.charAt((index += 1));
    else word = (word ?? '') + character;
  }
  if (quote !== undefined) throw new Error(`the quote ${quote} is not closed`);
  return word === undefined ? words : [...words, word];
}
