import {
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
  visit,
  type CST,
  type Document,
  type Node,
  type Pair,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import type { Json } from '../model/json.js';
import { copyPlainJson, isPlainObject, type PlainJsonLimits } from './plain-json.js';
import { errorAt, type Locate, type Path, type Place, type Problem } from './problem.js';

export type YamlReading =
  | { readonly ok: true; readonly value: Json; readonly locate: Locate }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads one YAML (or JSON) document into plain JSON and records the place of every value.
 * Refuses large files, deep nesting, alias bombs, duplicate keys, several documents and tags.
 */
export function readYaml(text: string, fileName: string, limits: PlainJsonLimits): YamlReading {
  const reading = readCanonicalJson(text, fileName, limits) ?? readDocument(text, fileName, limits);
  if (reading.ok || !fileName.endsWith('.json')) return reading;
  const fault = findJsonFault(text, reading.problems[0]?.place ?? { file: fileName, line: 1, column: 1 });
  return fault === undefined ? reading : { ok: false, problems: [fault] };
}

/** Describes the fault of a JSON file in terms of JSON instead of YAML. */
function findJsonFault(text: string, near: Place): Problem | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const position = / in JSON at position (\d+)/.exec(message)?.[1];
    const before = text.slice(0, Number(position ?? 0)).split('\n');
    const exact = { line: before.length, column: (before.at(-1) ?? '').length + 1 };
    const wrong = message.replace(/ in JSON at position[\s\S]*|, (\.\.\.)?"[\s\S]*" is not valid JSON$/, '');
    const place = position === undefined ? near : { ...near, ...exact };
    return { ...errorAt([], `is not valid JSON: ${wrong}`), place };
  }
}

/**
 * The same for a file that users maintain. Omits top-level keys that begin with `x-`, which define anchors.
 */
export function readYamlFile(text: string, fileName: string, limits: PlainJsonLimits): YamlReading {
  const reading = readYaml(text, fileName, limits);
  if (!reading.ok || !isPlainObject(reading.value)) return reading;
  const kept = Object.entries(reading.value).filter(([key]) => !key.startsWith('x-'));
  return { ...reading, value: Object.fromEntries(kept) };
}

/**
 * A fast path for JSON as programs write it, because every start reads the descriptors of all
 * plugins. Returns undefined for anything unusual, which the full parser then reports with its place.
 */
function readCanonicalJson(text: string, fileName: string, limits: PlainJsonLimits): YamlReading | undefined {
  if (!/^[{[]/.test(text) || Buffer.byteLength(text) > limits.bytes) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // Refuses duplicate keys, and numbers that JavaScript would print differently.
    if (JSON.stringify(value) !== text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')) return undefined;
    const plain = copyPlainJson(value, limits);
    if (!plain.ok) return undefined;
    let document: YamlReading | undefined;
    const top = { file: fileName, line: 1, column: 1 };
    const locate: Locate = (path, excerpt) => {
      if (path.length === 0) return top;
      document ??= readDocument(text, fileName, limits);
      return document.ok ? document.locate(path, excerpt) : top;
    };
    return { ok: true, value: plain.value, locate };
  } catch {
    return undefined;
  }
}

function readDocument(text: string, fileName: string, limits: PlainJsonLimits): YamlReading {
  const lines = new LineCounter();
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file: fileName, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const fail = (problems: readonly Problem[]): YamlReading => ({ ok: false, problems });
  const failAt = (offset: number, wrong: string, right?: string): YamlReading =>
    fail([{ ...errorAt([], wrong, right), place: placeOf(offset) }]);

  const source = text.startsWith('\uFEFF') ? text.slice(1) : text;
  if (Buffer.byteLength(source) > limits.bytes)
    return failAt(
      0,
      `the file has more than ${limits.bytes} bytes`,
      'Move large texts to separate files: {file: PATH}.',
    );
  const tokens = [...new Parser(lines.addNewLine).parse(source)];
  const deep = tooDeep(tokens, limits.depth);
  if (deep !== undefined) return failAt(deep, `is nested deeper than ${limits.depth} levels`);
  const documents = [...new Composer(composerOptions).compose(tokens, true, source.length)];
  const [document, second] = documents;
  if (document === undefined) return failAt(0, 'the file is empty');
  const faults = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
  if (faults.length > 0)
    return fail(
      faults
        .slice(0, maxFaults)
        .map((fault) => ({ ...wordsFor(fault, source), place: placeOf(fault.pos[0]) })),
    );
  if (second !== undefined)
    return failAt(
      second.range[0],
      'a second document begins here',
      'Keep one document: remove everything from the line --- on.',
    );
  if (document.contents === null) return failAt(0, 'the file is empty');
  const unknown = aliasOfNothing(document);
  if (unknown !== undefined)
    return failAt(
      unknown.offset,
      `alias *${unknown.name} has no anchor &${unknown.name} before it`,
      'Quote text that begins with *.',
    );
  const unmergeable = wrongMerge(document);
  if (unmergeable !== undefined)
    return failAt(unmergeable, '<< can merge only mappings', 'Merge a mapping: <<: *name.');
  const plain = toPlain(document, limits);
  const locate: Locate = (path, excerpt) => {
    const offset = offsetOf(document, path);
    const within = excerpt === undefined ? -1 : source.indexOf(excerpt, offset);
    return placeOf(within < 0 ? offset : within);
  };
  if (!plain.ok) return fail(plain.problems.map((problem) => ({ ...problem, place: locate(problem.path) })));
  return { ok: true, value: plain.value, locate };
}

const composerOptions = {
  uniqueKeys: true,
  stringKeys: true,
  resolveKnownTags: false,
  version: '1.2',
  merge: true,
  logLevel: 'silent',
} as const;
const maxFaults = 20;
const maxAliases = 100;

/**
 * Offset of the first token that is nested too deep. Searches the parser's tokens without
 * recursion: composing recurses, and a deep file would crash the process instead of throwing.
 */
function tooDeep(tokens: readonly CST.Token[], limit: number): number | undefined {
  const open: { readonly token: CST.Token; readonly depth: number }[] = tokens.map((token) => ({
    token,
    depth: 0,
  }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (depth > limit) return token.offset;
    if (token.type === 'document' && token.value !== undefined) open.push({ token: token.value, depth });
    if (!('items' in token)) continue;
    for (const { key, value } of token.items) {
      for (const child of [key, value])
        if (child !== undefined && child !== null) open.push({ token: child, depth: depth + 1 });
    }
  }
  return undefined;
}

function aliasOfNothing(document: Document): { readonly name: string; readonly offset: number } | undefined {
  const anchors = new Set<string>();
  let found: { readonly name: string; readonly offset: number } | undefined;
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node) && !anchors.has(node.source)) {
        found = { name: node.source, offset: node.range?.[0] ?? 0 };
        return visit.BREAK;
      }
      if (!isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor);
      return undefined;
    },
  });
  return found;
}

/**
 * Offset of a merge key whose value is neither a mapping nor a list of mappings, or is a
 * mapping that contains the key.
 */
function wrongMerge(document: Document): number | undefined {
  let found: number | undefined;
  visit(document, {
    Pair: (_, { key, value }, ancestors) => {
      if (!isScalar(key) || key.value !== '<<') return undefined;
      const wrong = mergeSources(document, value).some(
        (source) => !isMap(source) || ancestors.includes(source),
      );
      if (!wrong) return undefined;
      found = key.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return found;
}

function mergeSources(document: Document, value: unknown): readonly unknown[] {
  const merged = resolveAlias(document, value);
  return (isSeq(merged) ? merged.items : [merged]).map((source) => resolveAlias(document, source));
}

function toPlain(document: Document, limits: PlainJsonLimits): ReturnType<typeof copyPlainJson> {
  try {
    return copyPlainJson(document.toJS({ maxAliasCount: maxAliases }), limits);
  } catch (error) {
    // The library throws it for alias bombs.
    if (!(error instanceof ReferenceError)) throw error;
    return {
      ok: false,
      problems: [
        errorAt(
          [],
          `aliases (*name) would copy more than ${maxAliases} times`,
          'Use fewer aliases, or repeat the values.',
        ),
      ],
    };
  }
}

/** Offset of the key (or list item) at a path, or of its nearest existing ancestor. */
function offsetOf(document: Document, path: Path): number {
  let node: Node | null | undefined = resolveAlias(document, document.contents);
  let offset = node?.range?.[0] ?? 0;
  for (const part of path) {
    if (isMap(node)) {
      const pair = findPair(document, node, String(part));
      if (pair === undefined) return offset;
      const key = pair.key;
      offset = (isScalar(key) ? key.range?.[0] : undefined) ?? offset;
      node = resolveAlias(document, pair.value);
    } else if (isSeq(node) && typeof part === 'number') {
      const item: unknown = node.items[part];
      if (!isNodeWithRange(item)) return offset;
      offset = item.range?.[0] ?? offset;
      node = resolveAlias(document, item);
    } else {
      return offset;
    }
  }
  return offset;
}

/** The pair of a key, including keys of merged mappings (`<<`). */
function findPair(document: Document, map: YAMLMap, key: string): Pair | undefined {
  const named = (name: string): Pair | undefined =>
    map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === name);
  const own = named(key);
  if (own !== undefined) return own;
  for (const source of mergeSources(document, named('<<')?.value)) {
    const found = isMap(source) ? findPair(document, source, key) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function resolveAlias(document: Document, node: unknown): Node | null | undefined {
  if (isAlias(node)) return node.resolve(document);
  return isNodeWithRange(node) ? node : undefined;
}

function isNodeWithRange(node: unknown): node is Node {
  return isMap(node) || isSeq(node) || isScalar(node) || isAlias(node);
}

function wordsFor(fault: YAMLError, source: string): Problem {
  switch (fault.code) {
    case 'DUPLICATE_KEY':
      return errorAt([], `duplicate key ${wordAt(source, fault.pos[0])}`, 'Remove one of them.');
    case 'TAB_AS_INDENT':
      return errorAt([], 'a tab is used for indentation', 'Indent with spaces.');
    case 'NON_STRING_KEY':
      return errorAt([], 'a key must be plain text', 'Quote it.');
    case 'TAG_RESOLVE_FAILED':
      return errorAt([], `unknown tag ${wordAt(source, fault.pos[0])}`, 'Remove it.');
    default:
      return errorAt([], `invalid YAML: ${fault.message}`);
  }
}

function wordAt(source: string, offset: number): string {
  const [plain, quoted] = /^"([^"]{1,40})"|^[^\s:,\]}]{1,40}/.exec(source.slice(offset, offset + 64)) ?? [];
  return JSON.stringify(quoted ?? plain ?? source.slice(offset, offset + 1));
}
