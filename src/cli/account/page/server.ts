import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Descriptor } from '../../../schema/descriptor.js';
import { errorAt, hasErrors, ProblemsError, type Problem } from '../../../schema/problem.js';
import { CliError } from '../../cli-error.js';
import { checkDraft } from '../check-draft.js';
import { addAccount } from '../save-account.js';
import type { Workspace } from '../workspace.js';
import { accountForm, draftOf, type Typed } from './account-form.js';
import { accountList } from './account-list.js';
import { assets } from './assets.js';
import { admit, readForm, Refused, type Guard } from './guard.js';
import { html, type Markup } from './html.js';

export interface AccountsPage {
  /** Holds the token, so it is a secret. */
  readonly url: string;
  stop(): Promise<void>;
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/**
 * Serves a form for provider accounts on loopback, to whoever has its address. What it shows and checks is
 * read anew for each request. Only POST changes anything.
 */
export async function startAccountsPage(open: () => Promise<Workspace>): Promise<AccountsPage> {
  const token = randomBytes(24).toString('base64url');
  let authority = '';
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, (request, response) => {
    answer(request, { authority, token }, open)
      .catch(failure)
      .then(
        (reply) => send(response, reply),
        () => response.destroy(),
      );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the accounts page has no port');
  authority = `127.0.0.1:${address.port}`;
  return {
    url: `http://${authority}/${token}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  guard: Guard,
  open: () => Promise<Workspace>,
): Promise<Reply> {
  const path = admit(request, guard);
  const base = `/${guard.token}`;
  if (request.method !== 'GET' && request.method !== 'POST') throw new Refused(405, 'Use GET or POST.');
  if (request.method === 'GET') {
    const asset = Object.hasOwn(assets, path) ? assets[path] : undefined;
    if (asset !== undefined)
      return { status: 200, headers: { 'Content-Type': asset.type }, text: asset.text };
    const added = new URL(request.url ?? '/', 'http://page.invalid').searchParams.get('added') ?? undefined;
    if (path === '/') return page(200, accountList(await open(), added, base), base);
  }
  const workspace = await open();
  const descriptor = workspace.descriptors.find(({ name }) => path === `/add/${name}`);
  if (descriptor === undefined) throw new Refused(404, 'There is no such page.');
  if (request.method === 'GET')
    return page(200, accountForm(descriptor, new URLSearchParams(), [], base), base);
  return addFrom(workspace, descriptor, await readForm(request), base);
}

function addFrom(workspace: Workspace, descriptor: Descriptor, typed: Typed, base: string): Reply {
  const draft = draftOf(descriptor, typed);
  const again = (problems: readonly Problem[]): Reply =>
    page(422, accountForm(descriptor, typed, problems, base), base);
  const taken = Object.hasOwn(workspace.config.providers, draft.name)
    ? [errorAt(['name'], 'is an account already', 'Choose another name.')]
    : [];
  const problems = [...checkDraft(workspace, draft), ...taken];
  if (hasErrors(problems)) return again(problems);
  try {
    addAccount(workspace, draft, { replace: false });
  } catch (error) {
    // What a person can mend: the file was changed meanwhile, or cannot be written.
    if (error instanceof CliError || error instanceof ProblemsError)
      return again([errorAt([], error.message)]);
    throw error;
  }
  return { status: 303, headers: { Location: `${base}/?added=${encodeURIComponent(draft.name)}` }, text: '' };
}

function failure(error: unknown): Reply {
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' };
  if (error instanceof Refused) return { status: error.status, headers, text: error.message };
  return { status: 500, headers, text: error instanceof Error ? error.message : String(error) };
}

function page(status: number, content: Markup, base: string): Reply {
  const { text } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Heddle: provider accounts</title>
<link rel="stylesheet" href="${base}/page.css"><script src="${base}/page.js" defer></script></head>
<body>${content}</body></html>
`;
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8' }, text };
}

function send(response: ServerResponse, { status, headers, text }: Reply): void {
  response
    .writeHead(status, {
      'Content-Security-Policy':
        "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      // Not no-referrer: then browsers would leave the origin out of forms, too.
      'Referrer-Policy': 'same-origin',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      ...headers,
    })
    .end(text);
}
