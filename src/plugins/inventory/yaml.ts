import { isMap, isNode, isSeq, LineCounter, parseDocument, type Document } from 'yaml';
import type { Json } from '../../model/json.js';
import { asVariables, groupIn, newGroups, type Groups } from './groups.js';
import { expandRanges } from './ranges.js';

/** A value encrypted by ansible-vault. */
export const vaulted = '$ANSIBLE_VAULT';

/** @throws Error in words, with line and column. */
export function parseYaml(text: string): unknown {
  return parse(text).toJS();
}

/**
 * The entries of `machines`, with their lines; undefined if the file has no such list.
 * @throws Error with line and column.
 */
export function ownMachines(
  text: string,
): readonly { readonly value: Json; readonly line: number }[] | undefined {
  const lines = new LineCounter();
  const document = parse(text, lines);
  const machines: unknown = isMap(document.contents) ? document.get('machines') : undefined;
  if (!isSeq(machines)) return undefined;
  return machines.items.map((item) => ({
    value: (isNode(item) ? item.toJS(document) : item) as Json,
    line: lines.linePos((isNode(item) ? item.range?.[0] : undefined) ?? 0).line,
  }));
}

function parse(text: string, lineCounter = new LineCounter()): Document.Parsed {
  const document = parseDocument(text, {
    lineCounter,
    customTags: [
      { tag: '!vault', resolve: () => vaulted },
      { tag: '!unsafe', resolve: (value: string) => value },
    ],
  });
  const [fault] = document.errors;
  if (fault !== undefined) throw new Error(fault.message.split('\n')[0]?.replace(/:$/, '') ?? 'is not YAML');
  return document;
}

/**
 * Reads an Ansible inventory in YAML form.
 * @throws Error with the place.
 */
export function readYaml(content: unknown): Groups {
  const groups = newGroups();
  const top = asVariables(content);
  if (top === undefined)
    throw new Error(
      'is not an inventory: it must contain groups by name, such as all: {hosts: …}, or machines: [...]',
    );
  for (const [name, group] of Object.entries(top)) readGroup(groups, name, group, name);
  return groups;
}

function readGroup(groups: Groups, name: string, written: unknown, place: string): void {
  const group = groupIn(groups, name);
  const known = ['hosts', 'children', 'vars'];
  const content = mapping(written, place);
  const other = Object.keys(content).find((key) => !known.includes(key));
  if (other !== undefined) throw new Error(`${place}.${other}: a group may only contain ${known.join(', ')}`);
  for (const [pattern, vars] of Object.entries(mapping(content['hosts'], `${place}.hosts`))) {
    const variables = mapping(vars, `${place}.hosts.${pattern}`);
    for (const host of expandRanges(pattern))
      group.hosts.set(host, { ...group.hosts.get(host), ...variables });
  }
  group.vars = { ...group.vars, ...mapping(content['vars'], `${place}.vars`) };
  for (const [child, below] of Object.entries(mapping(content['children'], `${place}.children`))) {
    group.children.add(child);
    readGroup(groups, child, below, `${place}.children.${child}`);
  }
}

function mapping(value: unknown, place: string): NonNullable<ReturnType<typeof asVariables>> {
  const variables = asVariables(value);
  if (variables === undefined) throw new Error(`${place}: must be a mapping`);
  return variables;
}
