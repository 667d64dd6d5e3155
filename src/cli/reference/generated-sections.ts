import { join } from 'node:path';
import type { JsonObject } from '../../model/json.js';
import { eventTypes } from '../../model/webhook.js';
import { findPlugins } from '../../plugins/find-plugins.js';
import { publishedSchemas } from '../../schema/publish.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { metricGroups, metrics, servedName, type MetricName } from '../../worker/metric-table.js';
import { packageFolder } from '../package-folder.js';
import { errorCodeRows, exitCodeRows } from './exit-codes.js';
import { fieldTable } from './fields.js';
import { documentParts } from './json-documents.js';
import { keyRows, type KeyRow } from './keys.js';
import { code, codes, escapeMarkdown, table, typeWithDefault } from './markdown.js';

/** `<!-- keys: cluster services.<service> -->`, what the code declares, `<!-- end -->`. */
const part = /^<!-- ([a-z-]+)(?:: (.+?))? -->\n[\s\S]*?^<!-- end -->$/gm;

/** Writes the parts of a page that the code declares. */
export function fillSections(page: string): string {
  const heads = [...page.matchAll(part)].map(([, kind, of]) => ({ kind, of }));
  return page.replaceAll(part, (whole, kind: string, of = '') => {
    const [head = ''] = whole.split('\n', 1);
    const keys = heads.flatMap((one) => (one.kind === 'keys' && one.of !== undefined ? [one.of] : []));
    return `${head}\n\n${contentOf(kind, of, keys)}\n\n<!-- end -->`;
  });
}

function contentOf(kind: string, of: string, keys: readonly string[]): string {
  switch (kind) {
    case 'keys':
      return keyTable(of, keys);
    case 'fields':
      return fieldTable(descriptorOf(of));
    case 'exit-codes':
      return table(['code', 'meaning'], exitCodeRows());
    case 'error-codes':
      return table(['`code` in JSON', 'exit code'], errorCodeRows());
    case 'metrics':
      return metricTable(of);
    case 'events':
      return codes(eventTypes);
    case 'documents':
      return documentParts();
    default:
      throw new Error(`no part of a page is called ${kind}`);
  }
}

/** The keys of a file at a path, without those of paths that have a table of their own on the page. */
function keyTable(of: string, all: readonly string[]): string {
  const { file, at, except } = readKeys(of);
  const others = all
    .map(readKeys)
    .filter((other) => other.file === file && other.at.length > at.length && isBelow(other.at, at))
    .map((other) => other.at);
  const rows = rowsOf(file).filter(
    ({ path }) => isBelow(path, at) && ![...others, ...except].some((other) => isBelow(path, other)),
  );
  if (rows.length === 0) throw new Error(`${file} has no keys at "${at}"`);
  return table(
    ['key', 'type', 'meaning'],
    rows.map(({ path, type, fallback, meaning }) => [
      code(path.slice(at.length).replace(/^\./, '')),
      typeWithDefault(at === '' ? type : type.replace(`as \`${at}.`, 'as `'), fallback),
      meaning,
    ]),
  );
}

/** `image`, `image recipe`, `image except services`: a file, a path in it, and a path that is left out. */
function readKeys(of: string): {
  readonly file: string;
  readonly at: string;
  readonly except: readonly string[];
} {
  const [, file = '', at = '', except] = /^(\S+)(?: (?!except )(.+?))?(?: except (.+))?$/.exec(of) ?? [];
  return { file, at, except: except === undefined ? [] : [except] };
}

function isBelow(path: string, parent: string): boolean {
  return parent === '' || path.startsWith(`${parent}.`) || path.startsWith(`${parent}[`);
}

const rowsByFile = new Map<string, readonly KeyRow[]>();

function rowsOf(file: string): readonly KeyRow[] {
  const known = rowsByFile.get(file);
  if (known !== undefined) return known;
  const schema = publishedSchemas()[`${file}.schema.json`];
  if (schema === undefined) throw new Error(`there is no schema of ${file}`);
  const rows = keyRows(JSON.parse(schema) as JsonObject);
  rowsByFile.set(file, rows);
  return rows;
}

function descriptorOf(name: string): Descriptor {
  const root = join(packageFolder, 'src', 'plugins');
  const { found } = findPlugins([root], root);
  const descriptor = found.find((one) => one.descriptor.name === name)?.descriptor;
  if (descriptor === undefined) throw new Error(`there is no plugin ${name}`);
  return descriptor;
}

function metricTable(group: string): string {
  if (!Object.hasOwn(metricGroups, group)) throw new Error(`there are no metrics of ${group}`);
  const names = Object.keys(metricGroups[group as keyof typeof metricGroups]) as readonly MetricName[];
  return table(
    ['metric', 'kind', 'labels', 'meaning'],
    names.map((name) => {
      const { kind, labels, help } = metrics[name];
      return [code(servedName(name)), kind, labels.length === 0 ? '' : codes(labels), escapeMarkdown(help)];
    }),
  );
}
