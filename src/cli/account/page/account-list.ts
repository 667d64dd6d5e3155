import { html } from 'hono/html';
import { describeFields, hideSecrets } from '../field-words.js';
import { whenItCounts } from '../save-account.js';
import type { Workspace } from '../workspace.js';
import type { Markup } from './account-form.js';

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
