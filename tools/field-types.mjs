// @ts-check
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { root } from './environment.mjs';

/**
 * @typedef {{ type: string, options?: string[], items?: Field, default?: unknown, passReferences?: unknown }}
 * Field
 * @typedef {{ admin?: Record<string, Field>, user?: Record<string, Field>,
 *   required?: { admin?: string[][], user?: string[][] } }} Fields
 * @typedef {{ class?: string, include?: string, fields?: Fields }} Descriptor
 */

/** Writes the types of the built-in providers' fields beside their descriptors. */
export function writeFieldTypes() {
  for (const [file, text] of fieldTypes()) if (readText(file) !== text) writeFileSync(file, text);
}

/**
 * The file of each provider that is a class, and of each set of fields that they share, with its text.
 * @returns {readonly (readonly [string, string])[]}
 */
export function fieldTypes() {
  const plugins = join(root, 'src', 'plugins');
  const own = readdirSync(join(plugins, 'providers')).map((name) => join('providers', name, `${name}.json`));
  const shared = join('bare-metal', 'real-machines.fields.json');
  return [...own, shared].flatMap((path) => {
    /** @type {Descriptor & Fields} */
    const {
      class: className,
      include,
      fields,
      ...rest
    } = JSON.parse(readFileSync(join(plugins, path), 'utf8'));
    const type = path === shared ? 'RealMachine' : className?.replace(/Provider$/, '');
    if (type === undefined || include !== undefined) return [];
    const up = '../'.repeat(path.split(sep).length);
    const text = typesOf(path === shared ? rest : (fields ?? {}), `${type}Fields`, {
      from: basename(path),
      up,
    });
    return [/** @type {const} */ ([join(plugins, dirname(path), 'field-types.ts'), text])];
  });
}

/**
 * @param {Fields} fields @param {string} type @param {{ from: string, up: string }} place @returns {string}
 */
function typesOf({ admin = {}, user = {}, required = {} }, type, { from, up }) {
  const isAlways = (/** @type {string} */ key) =>
    [required.admin ?? [], required.user ?? []].some(
      (sets) => sets.length > 0 && sets.every((set) => set.includes(key)),
    );
  const lines = Object.entries({ ...admin, ...user }).map(([key, field]) => {
    const mark = field.default !== undefined || isAlways(key) ? '' : '?';
    return `  readonly ${key}${mark}: ${typeOf(field)};\n`;
  });
  const used = ['Json', 'JsonObject'].filter((name) => new RegExp(`\\b${name}\\b`).test(lines.join('')));
  const imported =
    used.length === 0 ? '' : `import type { ${used.join(', ')} } from '${up}model/json.js';\n\n`;
  return `// Generated from ${from} by npm run build.
${imported}/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface ${type} {
${lines.join('')}}
`;
}

/** @param {Field} field @returns {string} */
function typeOf({ type, options = [], items, passReferences }) {
  const item = items?.type === 'list' ? 'readonly string[]' : items === undefined ? undefined : typeOf(items);
  switch (type) {
    case 'string':
    case 'text':
    case 'url':
      return passReferences === true ? 'string | { readonly secret: string }' : 'string';
    case 'number':
    case 'integer':
    // In seconds.
    case 'duration':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'select':
      return options.map((option) => `'${option}'`).join(' | ');
    case 'scalar':
      return 'string | number | boolean';
    case 'list':
      return `readonly ${bracket(item ?? 'Json')}[]`;
    case 'map':
      return item === undefined ? 'JsonObject' : `Readonly<Record<string, ${item}>>`;
    case 'json':
      return 'Json';
    default:
      throw new Error(`no TypeScript type for fields of type ${type}`);
  }
}

/** @param {string} type @returns {string} */
function bracket(type) {
  return type.includes(' ') ? `(${type})` : type;
}

/** @param {string} file @returns {string | undefined} */
function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
