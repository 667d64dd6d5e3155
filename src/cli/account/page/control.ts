import { html } from 'hono/html';
import type { JsonObject } from '../../../model/json.js';
import type { Descriptor, FieldDeclaration } from '../../../schema/descriptor.js';
import type { Problem } from '../../../schema/problem.js';
import { isPlainSecret } from '../field-text.js';
import { describeKind, describeNeed } from '../field-words.js';
import { sentenceOf, type Markup } from './markup.js';
import { inputName, isShown, removalName, type Typed } from './typed.js';

export interface Control {
  readonly key: string;
  readonly title: string;
  /** `required`, `optional` and the like. */
  readonly need: string;
  /** A paragraph each. */
  readonly about: readonly string[];
  readonly problems: readonly Problem[];
}

/** An input with its label, its explanation and its problems. */
export function control(
  { key, title, need, about, problems }: Control,
  input: (attributes: Markup) => Markup,
): Markup {
  const wrong = problems.length > 0;
  return html`<label for="${key}">${title} <span class="need" id="${key}.need" data-text="${need}">${need}</span></label>
<div class="about" id="${key}.about">${about.map((part) => html`<p>${part}</p>`)}</div>
${input(html`id="${key}" name="${key}" aria-describedby="${key}.about${wrong ? ` ${key}.error` : ''}"${wrong ? html` aria-invalid="true"` : undefined}`)}
${wrong ? html`<p class="error" id="${key}.error">${problems.map(sentenceOf).join(' ')}</p>` : undefined}`;
}

export interface FieldState {
  readonly typed: Typed;
  /** The fields that heddle.yaml has. */
  readonly stored: JsonObject;
  readonly problems: readonly Problem[];
  /** Whether the form was sent and is shown again: secrets must then be typed again. */
  readonly again: boolean;
}

/** The input of one field of a plugin. Secrets are never sent to the browser. */
export function fieldControl(
  descriptor: Descriptor,
  [key, field]: readonly [string, FieldDeclaration],
  { typed, stored, problems, again }: FieldState,
): Markup {
  const given = typed.get(inputName(key)) ?? '';
  const isSecret = field.secret === true || isPlainSecret(field, given);
  const value = stored[key];
  const isKept = value !== undefined && !isShown(key, field, value);
  const need = describeNeed(key, descriptor);
  const about = [
    field.description,
    describeKind(field),
    isKept ? 'A value is stored but not shown: leave this empty to keep it.' : undefined,
  ].filter((part) => part !== undefined);
  // Lets the page's script update, during typing, whether the field is required.
  const required = html` ${need === 'required' && !isKept ? html`required` : undefined}${
    field.requiredWhen === undefined
      ? undefined
      : html` data-required-when="${JSON.stringify(field.requiredWhen)}"`
  }${isKept ? html` data-kept` : undefined}${
    field.default === undefined ? undefined : html` data-fallback="${fallbackText(field)}"`
  }`;
  return html`${control(
    { key: inputName(key), title: field.title, need: `${key}, ${need}`, about, problems },
    (attributes) => inputOf(field, html`${attributes}${required}`, isSecret ? '' : given),
  )}
${isSecret && given !== '' && again ? html`<p class="error">Type it again: secrets are not sent back to the browser.</p>` : undefined}
${isKept && need !== 'required' ? removal(key, typed) : undefined}`;
}

function removal(key: string, typed: Typed): Markup {
  const name = removalName(key);
  return html`<label class="tick"><input type="checkbox" name="${name}"${typed.get(name) === null ? undefined : html` checked`}> Remove the stored value</label>`;
}

function inputOf(field: FieldDeclaration, attributes: Markup, value: string): Markup {
  if (field.options !== undefined || field.type === 'boolean')
    return options(attributes, ['', ...(field.options ?? ['true', 'false'])], {
      chosen: value,
      otherwise: fallbackText(field),
    });
  if (field.secret === true)
    return field.type === 'text'
      ? html`<textarea ${attributes} class="masked" spellcheck="false"></textarea>`
      : html`<input ${attributes} type="password" autocomplete="new-password">`;
  if (['text', 'list', 'map', 'json'].includes(field.type))
    return html`<textarea ${attributes} rows="${rowsFor(value)}" spellcheck="false">
${value}</textarea>`;
  return html`<input ${attributes} value="${value}" placeholder="${fallbackText(field)}" spellcheck="false">`;
}

function rowsFor(text: string): number {
  return Math.min(Math.max(text.split('\n').length, 3), 20);
}

function options(
  attributes: Markup,
  choices: readonly string[],
  { chosen, otherwise }: { readonly chosen: string; readonly otherwise: string },
): Markup {
  const nothing = otherwise === '' ? '(not set)' : `(not set; default: ${otherwise})`;
  return html`<select ${attributes}>${choices.map((choice) => html`<option value="${choice}"${choice === chosen ? html` selected` : undefined}>${choice === '' ? nothing : choice}</option>`)}</select>`;
}

/** The default of a field, as it would be typed. */
function fallbackText({ default: fallback }: FieldDeclaration): string {
  if (fallback === undefined) return '';
  return typeof fallback === 'string' ? fallback : JSON.stringify(fallback);
}
