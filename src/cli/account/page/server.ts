import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Descriptor } from '../../../schema/descriptor.js';
import { errorAt, hasErrors, ProblemsError, type Problem } from '../../../schema/problem.js';
import { CliError } from '../../errors.js';
import { checkDraft } from '../check-draft.js';
import { addAccount } from '../save-account.js';
import type { Workspace } from '../workspace.js';
import { accountForm, draftOf, type Markup, type Typed } from './pages.js';
import { accountList } from './pages.js';
import { assets } from './assets.js';

export interface AccountsPage {
  /** Holds the token, so it is a secret. */
  readonly url: string;
  stop(): Promise<void>;
}

const maxFormBytes = 512 * 1024;

/**
 * Serves a form for provider accounts on loopback, to users who have its address. The workspace is read anew
 * for each request. Only POST changes anything.
 */
export async function startAccountsPage(open: () => Promise<Workspace>): Promise<AccountsPage> {
  const token = randomBytes(24).toString('base64url');
  let authority = '';
  const app = createApp(`/${token}`, open, (context) => admit(context, authority, token));
  const server = serve({
    fetch: app.fetch,
    hostname: '127.0.0.1',
    port: 0,
    serverOptions: { requestTimeout: 30_000, headersTimeout: 10_000 },
  }) as Server;
  if (!server.listening) await once(server, 'listening');
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

function createApp(base: string, open: () => Promise<Workspace>, check: (context: Context) => void): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(securityHeaders)) context.header(name, value);
    check(context);
    await next();
  });
  for (const [path, { type, text }] of Object.entries(assets))
    app.get(`${base}${path}`, (context) => context.body(text, 200, { 'Content-Type': type }));
  app.get(`${base}/`, async (context) =>
    context.html(page(accountList(await open(), context.req.query('added'), base), base)),
  );
  app.get(`${base}/add/:type`, async (context) => {
    const descriptor = descriptorOf(await open(), context.req.param('type'));
    return context.html(page(accountForm(descriptor, new URLSearchParams(), [], base), base));
  });
  const onError = (): never => refuse(413, `The form is larger than ${maxFormBytes} bytes.`);
  app.post(`${base}/add/:type`, bodyLimit({ maxSize: maxFormBytes, onError }), async (context) => {
    const workspace = await open();
    const descriptor = descriptorOf(workspace, context.req.param('type'));
    if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(context.req.header('Content-Type') ?? ''))
      refuse(415, 'A form is expected.');
    const typed = new URLSearchParams(await context.req.text());
    const { name, problems } = save(workspace, descriptor, typed);
    if (problems.length === 0) return context.redirect(`${base}/?added=${encodeURIComponent(name)}`, 303);
    return context.html(page(accountForm(descriptor, typed, problems, base), base), 422);
  });
  app.notFound(() => refuse(404, 'There is no such page.'));
  app.onError((error, context) => {
    const status = error instanceof HTTPException ? error.status : 500;
    return context.text(error.message, status, { Connection: 'close' });
  });
  return app;
}

const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // With no-referrer, browsers would also leave the origin out of forms.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};

/**
 * Admits requests of this page, and of users who were given its address. The token is part of the path, not a
 * cookie: browsers send cookies to every port of this machine.
 */
function admit({ req }: Context, authority: string, token: string): void {
  // A foreign page may point a name of its own at this machine; the browser then sends that name.
  if (req.header('Host') !== authority) refuse(403, `This page is at http://${authority} alone.`);
  const origin = req.header('Origin');
  if ((req.method !== 'GET' || origin !== undefined) && origin !== `http://${authority}`)
    refuse(403, 'Another page may not use this one.');
  const [, given = ''] = req.path.split('/');
  // Compared as digests, so that the duration does not depend on the token.
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  if (!timingSafeEqual(digest(given), digest(token)))
    refuse(
      401,
      'The address is not complete. heddle dev prints it when it starts, and makes a new one each time.',
    );
  if (req.method !== 'GET' && req.method !== 'POST') refuse(405, 'Use GET or POST.');
}

function refuse(status: ContentfulStatusCode, message: string): never {
  throw new HTTPException(status, { message });
}

function descriptorOf({ descriptors }: Workspace, type: string): Descriptor {
  return descriptors.find(({ name }) => name === type) ?? refuse(404, 'There is no such page.');
}

/** Adds the account of a form; returns its problems. */
function save(
  workspace: Workspace,
  descriptor: Descriptor,
  typed: Typed,
): { readonly name: string; readonly problems: readonly Problem[] } {
  const draft = draftOf(descriptor, typed);
  const { name } = draft;
  const taken = Object.hasOwn(workspace.config.providers, name)
    ? [errorAt(['name'], 'is an account already', 'Choose another name.')]
    : [];
  const problems = [...checkDraft(workspace, draft), ...taken];
  if (hasErrors(problems)) return { name, problems };
  try {
    addAccount(workspace, draft, { replace: false });
    return { name, problems: [] };
  } catch (error) {
    // The user can correct these: the file was changed meanwhile, or cannot be written.
    if (error instanceof CliError || error instanceof ProblemsError)
      return { name, problems: [errorAt([], error.message)] };
    throw error;
  }
}

function page(content: Markup, base: string): Markup {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Heddle: provider accounts</title>
<link rel="stylesheet" href="${base}/page.css"><script src="${base}/page.js" defer></script></head>
<body>${content}</body></html>
`;
}
