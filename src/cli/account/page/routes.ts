import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { errorAt, hasErrors, ProblemsError, type Problem } from '../../../schema/problem.js';
import { CliError } from '../../errors.js';
import { checkDraft, checkValues } from '../check-draft.js';
import { addAccount, removeSettings, saveAutomator, writtenAccount } from '../save-account.js';
import { testAccount } from '../test-account.js';
import type { Workspace } from '../workspace.js';
import type { SettingsEntry } from '../yaml-edit.js';
import { settingsForm, type SettingsForm } from './form.js';
import { page } from './markup.js';
import { removalPage, testPage, type Done } from './pages.js';
import { refuse } from './refuse.js';
import { fieldsOf, typedOf, type Typed } from './typed.js';

const maxFormBytes = 512 * 1024;

/** A form, its initial values, and how its input is checked and saved. */
interface Editor {
  readonly form: SettingsForm;
  readonly initial: URLSearchParams;
  readonly check: (typed: Typed) => readonly Problem[];
  readonly save: (typed: Typed) => Done;
}

/** What the page shows. */
export interface PageSources {
  readonly open: () => Promise<Workspace>;
  /** A sentence about what uses an account. */
  readonly usersOf: (account: string) => Promise<string>;
}

/** Adds the pages that change heddle.yaml: for accounts and for the settings of automators. */
export function addSettingsRoutes(app: Hono, base: string, { open, usersOf }: PageSources): void {
  const editors = {
    '/add/:name': newAccountEditor,
    '/accounts/:name': accountEditor,
    '/automators/:name': automatorEditor,
  };
  for (const [path, editorOf] of Object.entries(editors)) {
    app.get(`${base}${path}`, async (context) => {
      const { form, initial } = editorOf(await open(), context.req.param('name') ?? '', base);
      return context.html(page(settingsForm(form, initial, undefined, base), base));
    });
    app.post(`${base}${path}`, formLimit, async (context) => {
      const editor = editorOf(await open(), context.req.param('name') ?? '', base);
      return submit(context, editor, base);
    });
  }
  for (const [path, section] of [
    ['/accounts/:name/remove', 'providers'],
    ['/automators/:name/remove', 'automators'],
  ] as const) {
    app.get(`${base}${path}`, async (context) => {
      const workspace = await open();
      const entry = entryOf(workspace, section, context.req.param('name') ?? '');
      const users = section === 'providers' ? await usersOf(entry.name) : undefined;
      return context.html(page(removalPage(entry, { file: workspace.file, users }, base), base));
    });
    app.post(`${base}${path}`, formLimit, async (context) => {
      const workspace = await open();
      const entry = entryOf(workspace, section, context.req.param('name') ?? '');
      removeSettings(workspace, entry);
      return context.redirect(listAddress(base, { removed: entry.name }), 303);
    });
  }
  app.post(`${base}/accounts/:name/test`, formLimit, async (context) => {
    const workspace = await open();
    const { name } = entryOf(workspace, 'providers', context.req.param('name'));
    return context.html(page(testPage(name, await testAccount(workspace, name), base), base));
  });
}

const formLimit = bodyLimit({
  maxSize: maxFormBytes,
  onError: () => refuse(413, `The form is larger than ${maxFormBytes} bytes.`),
});

function newAccountEditor(workspace: Workspace, type: string, base: string): Editor {
  const descriptor = find(workspace.descriptors, type);
  const draftOf = (typed: Typed) => ({
    name: typed.get('name')?.trim() ?? '',
    type,
    site: siteOf(typed),
    fields: fieldsOf(descriptor, typed, {}),
  });
  return {
    form: {
      title: `Add an account of ${type}`,
      action: `${base}/add/${type}`,
      submit: 'Add',
      descriptor,
      identity: ['name', 'site'],
      stored: {},
    },
    initial: new URLSearchParams(),
    check: (typed) => {
      const draft = draftOf(typed);
      const taken = Object.hasOwn(workspace.config.providers, draft.name)
        ? [errorAt(['name'], 'already exists', 'Choose another name.')]
        : [];
      return [...checkDraft(workspace, draft), ...taken];
    },
    save: (typed) => {
      const draft = draftOf(typed);
      addAccount(workspace, draft, { replace: false });
      return { added: draft.name };
    },
  };
}

function accountEditor(workspace: Workspace, name: string, base: string): Editor {
  const { type, site = '', fields: stored } = writtenAccount(workspace.file, name) ?? missing();
  const descriptor = find(workspace.descriptors, type);
  const initial = typedOf(descriptor, stored);
  initial.set('site', site);
  const draftOf = (typed: Typed) => ({
    name,
    type,
    site: siteOf(typed),
    fields: fieldsOf(descriptor, typed, stored),
  });
  return {
    form: {
      title: `Edit ${name}`,
      action: `${base}/accounts/${name}`,
      submit: 'Save',
      descriptor,
      identity: ['site'],
      stored,
    },
    initial,
    check: (typed) => checkDraft(workspace, draftOf(typed)),
    save: (typed) => {
      addAccount(workspace, draftOf(typed), { replace: true });
      return { changed: name };
    },
  };
}

function automatorEditor({ config, ...workspace }: Workspace, name: string, base: string): Editor {
  const descriptor = find(workspace.automators, name);
  const stored = config.automators[name]?.fields ?? {};
  return {
    form: {
      title: `Settings of ${name}`,
      action: `${base}/automators/${name}`,
      submit: 'Save',
      descriptor,
      identity: [],
      stored,
    },
    initial: typedOf(descriptor, stored),
    check: (typed) => checkValues(descriptor, fieldsOf(descriptor, typed, stored)),
    save: (typed) => {
      saveAutomator({ config, ...workspace }, descriptor, fieldsOf(descriptor, typed, stored));
      return { set: name };
    },
  };
}

function siteOf(typed: Typed): string | undefined {
  return typed.get('site')?.trim() || undefined;
}

/** Saves a form, or shows it again with its problems. */
async function submit(
  context: Context,
  { form, initial, check, save }: Editor,
  base: string,
): Promise<Response> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(context.req.header('Content-Type') ?? ''))
    refuse(415, 'A form is expected.');
  const typed = new URLSearchParams(await context.req.text());
  const showAgain = (problems: readonly Problem[]): Response | Promise<Response> =>
    context.html(page(settingsForm(form, initial, { typed, problems }, base), base), 422);
  const problems = check(typed);
  if (hasErrors(problems)) return showAgain(problems);
  try {
    return context.redirect(listAddress(base, save(typed)), 303);
  } catch (error) {
    // The user can correct these: the file was changed meanwhile, or cannot be written.
    if (error instanceof CliError || error instanceof ProblemsError)
      return showAgain([errorAt([], error.message)]);
    throw error;
  }
}

function listAddress(base: string, done: Done): string {
  return `${base}/?${new URLSearchParams(Object.entries(done)).toString()}`;
}

function entryOf({ config }: Workspace, section: SettingsEntry['section'], name: string): SettingsEntry {
  return Object.hasOwn(config[section], name) ? { section, name } : missing();
}

function find<Named extends { readonly name: string }>(all: readonly Named[], wanted: string): Named {
  return all.find(({ name }) => name === wanted) ?? missing();
}

function missing(): never {
  return refuse(404, 'Page not found.');
}
