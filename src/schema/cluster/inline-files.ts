import { isAbsolute, join, resolve } from 'node:path';
import type { Json, JsonObject } from '../../model/json.js';
import { isPlainObject } from '../plain-json.js';
import { errorAt, type Path, type Problem } from '../problem.js';
import { readTextFile } from '../read-text.js';

/** Maximum size of an inlined file, in bytes. */
const maxInlineBytes = 256 * 1024;

interface Inlined {
  readonly value: Json;
  readonly problems: readonly Problem[];
  /** The inlined texts, by the JSON of their paths. */
  readonly texts: ReadonlyMap<string, { readonly file: string; readonly text: string }>;
}

/**
 * Replaces `{file: PATH}`, allowed as the value of any field of a service action or a group, by the content
 * of the file. Paths are relative to `folder`. Leaves values of unexpected shape for the schema to report.
 */
export function inlineFiles(value: Json, folder: string): Inlined {
  const problems: Problem[] = [];
  const texts = new Map<string, { readonly file: string; readonly text: string }>();
  const replaced = mapFields(value, (field, path) => {
    const file = fileReference(field);
    if (file === undefined) return field;
    const read = readTextFile(isAbsolute(file) ? file : resolve(folder, file), maxInlineBytes);
    if (read.ok) {
      texts.set(JSON.stringify(path), {
        file: isAbsolute(file) ? file : join(folder, file),
        text: read.text,
      });
      return read.text;
    }
    problems.push(
      errorAt(
        [...path, 'file'],
        `cannot use the file ${JSON.stringify(file)}: ${read.wrong}`,
        'Paths are relative to the spec file.',
      ),
    );
    return '';
  });
  return { value: replaced, problems, texts };
}

/** A spec in a workflow must be self-contained: workers do not have the author's files. */
export function checkNoFiles(value: Json): readonly Problem[] {
  const problems: Problem[] = [];
  if (isPlainObject(value) && value['include'] !== undefined)
    problems.push(
      errorAt(
        ['include'],
        'names files, which workers cannot read',
        'Apply the spec with heddle apply FILE.',
      ),
    );
  mapFields(value, (field, path) => {
    if (fileReference(field) !== undefined) {
      problems.push(
        errorAt(
          path,
          'names a file, which workers cannot read',
          'Set the text itself, or apply the spec with heddle apply FILE.',
        ),
      );
    }
    return field;
  });
  return problems;
}

function fileReference(field: Json): string | undefined {
  if (!isPlainObject(field) || Object.keys(field).length !== 1) return undefined;
  return typeof field['file'] === 'string' ? field['file'] : undefined;
}

type ChangeField = (field: Json, path: Path) => Json;

function mapFields(spec: Json, change: ChangeField): Json {
  const fields = (owner: Json, path: Path): Json =>
    changeKey(owner, 'fields', path, (values, at) => changeEach(values, at, change));
  const inActions = (service: Json, path: Path): Json =>
    changeKey(service, 'actions', path, (actions, at) => changeEach(actions, at, fields));
  const inList = (list: Json, path: Path): Json =>
    Array.isArray(list) ? list.map((choice: Json, index) => fields(choice, [...path, index])) : list;
  const inGroup = (group: Json, path: Path): Json =>
    changeKey(fields(group, path), 'alternatives', path, inList);
  const withServices = changeKey(spec, 'services', [], (services, path) =>
    changeEach(services, path, inActions),
  );
  return changeKey(withServices, 'nodes', [], (groups, path) => changeEach(groups, path, inGroup));
}

function changeKey(owner: Json, key: string, path: Path, change: ChangeField): Json {
  if (!isPlainObject(owner) || !Object.hasOwn(owner, key)) return owner;
  return { ...owner, [key]: change(owner[key] ?? null, [...path, key]) };
}

function changeEach(owner: Json, path: Path, change: ChangeField): Json {
  if (!isPlainObject(owner)) return owner;
  const changed: JsonObject = Object.fromEntries(
    Object.entries(owner).map(([key, value]) => [key, change(value, [...path, key])]),
  );
  return changed;
}
