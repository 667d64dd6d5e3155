import { html } from 'hono/html';
import type { Json } from '../../../model/json.js';
import type { Descriptor, FieldDeclaration } from '../../../schema/descriptor.js';
import type { Problem } from '../../../schema/problem.js';
import { type AccountDraft, declaredFields } from '../check-draft.js';
import { isPlainSecret, parseFieldText, referenceForms } from '../field-text.js';
import { describeFields, describeKind, describeNeed, hideSecrets, noFieldsDeclared } from '../field-words.js';
import { whenItCounts } from '../save-account.js';
import type { Workspace } from '../workspace.js';

/** The accounts that are there, and what more there may be. */
export function accountList(
  { config, file, descriptors }: Workspace,
  added: string | undefined,
  base: string,
): Markup {
  const accounts = Object.entries(config.providers);
  // The name comes from the address, which anyone can make up.
  const done =
    added !== undefined && Object.hasOwn(config.providers, added)
      ? html`<p class="done" role="status">${added} is in ${file}. ${whenItCounts}</p>`
      : undefined;
  return html`<h1>Provider accounts</h1>
${done}
<p>In ${file}.${accounts.length === 0 ? ' None yet.' : ''}</p>
${
  accounts.length === 0
    ? undefined
    : html`<table><tr><th>Name</th><th>Type</th><th>Site</th><th>Fields</th></tr>
${accounts.map(
  ([name, { type, site, fields }]) =>
    html`<tr><td>${name}</td><td>${type}</td><td>${site}</td><td>${describeFields(
      hideSecrets(
        descriptors.find((one) => one.name === type),
        fields,
      ),
    )}</td></tr>`,
)}</table>`
}
<h2>Add an account</h2>
<table>${descriptors.map(({ name, description }) => html`<tr><td><a href="${base}/add/${name}">${name}</a></td><td>${description}</td></tr>`)}</table>`;
}

/** Escaped HTML. */
export type Markup = ReturnType<typeof html>;

/** The values of a form, by the names of inputs. */
export type Typed = Pick<URLSearchParams, 'get'>;

/**
 * The form of a plugin's fields. Problems are shown beside the field; secrets are never sent back and must be
 * typed again.
 */
export function accountForm(
  descriptor: Descriptor,
  typed: Typed,
  problems: readonly Problem[],
  base: string,
): Markup {
  const said = (...path: readonly string[]): readonly Problem[] =>
    problems.filter((problem) => path.every((part, index) => problem.path[index] === part));
  const beside = new Set([
    ...said('name'),
    ...said('site'),
    ...declaredFields(descriptor).flatMap(([key]) => said('fields', key)),
  ]);
  const general = problems.filter((problem) => !beside.has(problem));
  return html`<h1>Add an account of ${descriptor.name}</h1>
<p>${descriptor.description}</p>
${descriptor.fields === undefined ? html`<p>${noFieldsDeclared}</p>` : undefined}
${general.map((problem) => html`<p class="error" role="alert">${words(problem)}</p>`)}
${declaredFields(descriptor).some(([, field]) => takesReference(field)) ? html`<p>In place of a secret or a text a reference may stand, which workers resolve when they use it: ${referenceForms}.</p>` : undefined}
<form method="post" action="${base}/add/${descriptor.name}" autocomplete="off">
${control({ key: 'name', title: 'Name', need: 'required', about: ['What clusters call it.', 'lower-case letters, digits and hyphens'], problems: said('name') }, (attributes) => html`<input ${attributes} required value="${typed.get('name') ?? ''}">`)}
${control({ key: 'site', title: 'Site', need: 'optional', about: ["The site whose workers reach its machines; each worker's own unless given."], problems: said('site') }, (attributes) => html`<input ${attributes} value="${typed.get('site') ?? ''}">`)}
${declaredFields(descriptor).map(([key, field]) => fieldControl(descriptor, key, field, typed, said('fields', key)))}
<button>Add</button>
</form>
<p><a href="${base}/">Back</a></p>`;
}

/** The draft in a form. Ignores fields that the plugin does not declare. */
export function draftOf(descriptor: Descriptor, typed: Typed): AccountDraft {
  const site = typed.get('site')?.trim() ?? '';
  const fields = declaredFields(descriptor).flatMap(([key, field]): readonly (readonly [string, Json])[] => {
    // Forms send their lines with both marks.
    const value = parseFieldText(field, (typed.get(inputName(key)) ?? '').replaceAll('\r\n', '\n'));
    return value === undefined ? [] : [[key, value]];
  });
  return {
    name: typed.get('name')?.trim() ?? '',
    type: descriptor.name,
    site: site || undefined,
    fields: Object.fromEntries(fields),
  };
}

function inputName(key: string): string {
  return `field.${key}`;
}

function fieldControl(
  descriptor: Descriptor,
  key: string,
  field: FieldDeclaration,
  typed: Typed,
  problems: readonly Problem[],
): Markup {
  const need = describeNeed(key, descriptor);
  const about = [field.description, describeKind(field)].filter((part) => part !== undefined);
  const given = typed.get(inputName(key)) ?? '';
  const value = field.secret === true || isPlainSecret(field, given) ? '' : given;
  const required = html` ${need === 'required' ? html`required` : undefined}`;
  return control({ key: inputName(key), title: field.title, need, about, problems }, (attributes) => {
    if (field.options !== undefined || field.type === 'boolean')
      return options(attributes, required, ['', ...(field.options ?? ['true', 'false'])], {
        chosen: value,
        otherwise: fallbackText(field),
      });
    if (field.secret === true)
      return field.type === 'text'
        ? html`<textarea ${attributes}${required} class="masked" spellcheck="false"></textarea>`
        : html`<input ${attributes}${required} type="password" autocomplete="new-password">`;
    if (['text', 'list', 'map', 'json'].includes(field.type))
      return html`<textarea ${attributes}${required} spellcheck="false">
${value}</textarea>`;
    return html`<input ${attributes}${required} value="${value}" placeholder="${fallbackText(field)}" spellcheck="false">`;
  });
}

function options(
  attributes: Markup,
  required: Markup,
  choices: readonly string[],
  { chosen, otherwise }: { readonly chosen: string; readonly otherwise: string },
): Markup {
  const nothing = otherwise === '' ? '(not given)' : `(not given: ${otherwise})`;
  return html`<select ${attributes}${required}>${choices.map((choice) => html`<option value="${choice}"${choice === chosen ? html` selected` : undefined}>${choice === '' ? nothing : choice}</option>`)}</select>`;
}

function takesReference({ type, secret }: FieldDeclaration): boolean {
  return secret === true || type === 'text';
}

/** The default of a field, as it would be typed. */
function fallbackText({ default: fallback }: FieldDeclaration): string {
  if (fallback === undefined) return '';
  return typeof fallback === 'string' ? fallback : JSON.stringify(fallback);
}

interface Control {
  readonly key: string;
  readonly title: string;
  /** `required`, `optional`, or what it is an alternative to. */
  readonly need: string;
  /** A paragraph each. */
  readonly about: readonly string[];
  readonly problems: readonly Problem[];
}

function control(
  { key, title, need, about, problems }: Control,
  input: (attributes: Markup) => Markup,
): Markup {
  const wrong = problems.length > 0;
  return html`<label for="${key}">${title} <span class="need">${need}</span></label>
<div class="about" id="${key}.about">${about.map((part) => html`<p>${part}</p>`)}</div>
${input(html`id="${key}" name="${key}" aria-describedby="${key}.about${wrong ? ` ${key}.error` : ''}"${wrong ? html` aria-invalid="true"` : undefined}`)}
${wrong ? html`<p class="error" id="${key}.error">${problems.map(words).join(' ')}</p>` : undefined}`;
}

function words({ wrong, right }: Problem): string {
  return right === undefined ? wrong : `${wrong.replace(/[.;]$/, '')}. ${right}`;
}
