import { html } from 'hono/html';
import type { JsonObject } from '../../../model/json.js';
import type { Descriptor, FieldDeclaration } from '../../../schema/descriptor.js';
import type { Problem } from '../../../schema/problem.js';
import { declaredFields } from '../check-draft.js';
import { referenceForms } from '../field-text.js';
import { describeAlternatives, noFieldsDeclared } from '../field-words.js';
import { control, fieldControl } from './control.js';
import { sentenceOf, type Markup } from './markup.js';
import type { Typed } from './typed.js';

/** A form of the administrators' fields of a plugin. */
export interface SettingsForm {
  readonly title: string;
  /** The address that the form is sent to. */
  readonly action: string;
  /** What its button says. */
  readonly submit: string;
  readonly descriptor: Descriptor;
  /** Which inputs come before the fields. */
  readonly identity: readonly ('name' | 'site')[];
  /** The fields that heddle.yaml has. */
  readonly stored: JsonObject;
}

/** The input of a form and its problems; absent when the form is shown for the first time. */
export interface Sent {
  readonly typed: Typed;
  readonly problems: readonly Problem[];
}

/** A form with problems beside their fields. Keeps what was typed, except secrets. */
export function settingsForm(form: SettingsForm, typed: Typed, sent: Sent | undefined, base: string): Markup {
  const { descriptor, identity, stored } = form;
  const problems = sent?.problems ?? [];
  const said = (...path: readonly string[]): readonly Problem[] =>
    problems.filter((problem) => path.every((part, index) => problem.path[index] === part));
  const declared = declaredFields(descriptor);
  const beside = new Set([
    ...identity.flatMap((part) => said(part)),
    ...declared.flatMap(([key]) => said('fields', key)),
  ]);
  const general = problems.filter((problem) => !beside.has(problem));
  const values = sent?.typed ?? typed;
  const alternatives = describeAlternatives(descriptor);
  return html`<h1>${form.title}</h1>
<p>${descriptor.description}</p>
${descriptor.fields === undefined ? html`<p>${noFieldsDeclared}</p>` : undefined}
${alternatives === undefined ? undefined : html`<p>${alternatives}</p>`}
${general.map((problem) => html`<p class="error" role="alert">${sentenceOf(problem)}</p>`)}
${declared.some(([, field]) => takesReference(field)) ? html`<p>Secrets and texts may be references, which workers resolve when they use them: ${referenceForms}.</p>` : undefined}
<form method="post" action="${form.action}" autocomplete="off">
${identity.map((part) => identityControl(part, values, said(part)))}
${declared.map(([key, field]) =>
  fieldControl(descriptor, [key, field], {
    typed: values,
    stored,
    problems: said('fields', key),
    again: sent !== undefined,
  }),
)}
<button>${form.submit}</button>
</form>
<p><a href="${base}/">Back</a></p>`;
}

function identityControl(part: 'name' | 'site', typed: Typed, problems: readonly Problem[]): Markup {
  const value = typed.get(part) ?? '';
  return part === 'name'
    ? control(
        {
          key: 'name',
          title: 'Name',
          need: 'required',
          about: ['Its name in cluster files.', 'lower-case letters, digits and hyphens'],
          problems,
        },
        (attributes) => html`<input ${attributes} required value="${value}">`,
      )
    : control(
        {
          key: 'site',
          title: 'Site',
          need: 'optional',
          about: ["The site whose workers reach its machines. Default: each worker's own site."],
          problems,
        },
        (attributes) => html`<input ${attributes} value="${value}">`,
      );
}

function takesReference({ type, secret }: FieldDeclaration): boolean {
  return secret === true || type === 'text';
}
