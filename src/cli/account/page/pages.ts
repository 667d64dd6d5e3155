import { html } from 'hono/html';
import type { JsonObject } from '../../../model/json.js';
import type { Descriptor } from '../../../schema/descriptor.js';
import { hideSecrets } from '../field-words.js';
import { whenItCounts } from '../save-account.js';
import type { AccountTest } from '../test-account.js';
import type { Workspace } from '../workspace.js';
import type { SettingsEntry } from '../yaml-edit.js';
import type { Markup } from './markup.js';

/** What the last form changed, as the address of the list says. */
export type Done = Readonly<Partial<Record<'added' | 'changed' | 'set' | 'removed', string>>>;

/** The existing accounts and automator settings, and the account types that can be added. */
export function settingsList(workspace: Workspace, done: Done, base: string): Markup {
  const { config, file, descriptors, automators } = workspace;
  const accounts = Object.entries(config.providers);
  return html`<h1>Provider accounts</h1>
${doneNotice(workspace, done)}
<p>In ${file}.${accounts.length === 0 ? ' None yet.' : ''}</p>
${accounts.map(([name, account]) => {
  const descriptor = descriptors.find((one) => one.name === account.type);
  return entryCard(
    { name, about: `${account.type}, site ${account.site}`, fields: hideSecrets(descriptor, account.fields) },
    descriptor === undefined
      ? html`<p class="error">Provider plugin ${account.type} does not exist.</p>${link(`${base}/accounts/${name}/remove`, 'Remove', name)}`
      : html`${link(`${base}/accounts/${name}`, 'Edit', name)}
<form method="post" action="${base}/accounts/${name}/test"><button aria-label="Test ${name}">Test</button></form>
${link(`${base}/accounts/${name}/remove`, 'Remove', name)}`,
  );
})}
<h2>Add an account</h2>
<dl class="choices">${descriptors.map(({ name, description }) => html`<dt><a href="${base}/add/${name}">${name}</a></dt><dd>${description}</dd>`)}</dl>
<h2>Automators</h2>
<p>Settings of the automators that have administrators' fields.</p>
${automators.map((descriptor) => automatorCard(descriptor, config.automators[descriptor.name]?.fields, base))}
${Object.keys(config.automators)
  .filter((name) => !automators.some((known) => known.name === name))
  .map((name) =>
    entryCard(
      { name, about: 'set', fields: {} },
      html`<p class="error">Automator ${name} does not exist, or has no administrators' fields.</p>${link(`${base}/automators/${name}/remove`, 'Remove', name)}`,
    ),
  )}`;
}

function automatorCard(descriptor: Descriptor, fields: JsonObject | undefined, base: string): Markup {
  const { name, description } = descriptor;
  return entryCard(
    {
      name,
      about: fields === undefined ? 'not set' : 'set',
      text: description,
      fields: hideSecrets(descriptor, fields ?? {}),
    },
    html`${link(`${base}/automators/${name}`, fields === undefined ? 'Set' : 'Edit', name)}
${fields === undefined ? undefined : link(`${base}/automators/${name}/remove`, 'Remove', name)}`,
  );
}

interface Card {
  readonly name: string;
  readonly about: string;
  readonly text?: string;
  /** Without secrets. */
  readonly fields: JsonObject;
}

function entryCard({ name, about, text, fields }: Card, actions: Markup): Markup {
  const entries = Object.entries(fields);
  return html`<article><h3>${name} <span class="need">${about}</span></h3>
${text === undefined ? undefined : html`<p>${text}</p>`}
${entries.length === 0 ? undefined : html`<dl>${entries.map(([key, value]) => html`<dt>${key}</dt><dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>`)}</dl>`}
<div class="actions">${actions}</div></article>`;
}

function link(address: string, text: string, about: string): Markup {
  return html`<a class="button" href="${address}" aria-label="${text} ${about}">${text}</a>`;
}

/** The names come from the address, which anyone can forge: only names that match the file are used. */
function doneNotice({ config, file }: Workspace, { added, changed, set, removed }: Done): Markup | undefined {
  const isIn = (entries: object, name: string | undefined): name is string =>
    name !== undefined && Object.hasOwn(entries, name);
  const notice = (what: string): Markup => html`<p class="done" role="status">${what} ${whenItCounts}</p>`;
  if (isIn(config.providers, added)) return notice(`${added} is in ${file}.`);
  if (isIn(config.providers, changed)) return notice(`${changed} is changed in ${file}.`);
  if (isIn(config.automators, set)) return notice(`The settings of ${set} are in ${file}.`);
  if (removed !== undefined && /^[\w-]{1,63}$/.test(removed))
    return notice(`${removed} was removed from ${file}.`);
  return undefined;
}

/** Asks before something is removed. `users`: a sentence about what uses an account. */
export function removalPage(
  { section, name }: SettingsEntry,
  { file, users }: { readonly file: string; readonly users: string | undefined },
  base: string,
): Markup {
  const account = section === 'providers';
  return html`<h1>${account ? `Remove the account ${name}` : `Remove the settings of ${name}`}</h1>
<p>From ${file}, together with the secrets that are stored for it.</p>
<p><strong>${
    account
      ? 'Clusters, pools, machines and images that use this account can then neither be changed nor deleted, and their machines keep running.'
      : 'Clusters whose services need these settings can then no longer be changed.'
  }</strong></p>
${users === undefined ? undefined : html`<p id="users">${users}</p>`}
<form method="post" action="${base}/${account ? 'accounts' : 'automators'}/${name}/remove"><button class="danger">Remove ${name}</button></form>
<p><a href="${base}/">Keep it</a></p>`;
}

/** What a test of an account found. */
export function testPage(name: string, { works, says }: AccountTest, base: string): Markup {
  return html`<h1>Test of ${name}</h1>
<p class="${works ? 'done' : 'failed'}" role="status">${says}</p>
<form method="post" action="${base}/accounts/${name}/test"><button>Test again</button></form>
<p><a href="${base}/accounts/${name}">Edit ${name}</a></p>
<p><a href="${base}/">Back</a></p>`;
}
