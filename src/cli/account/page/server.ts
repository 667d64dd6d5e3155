import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono, type Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { CliError } from '../../errors.js';
import { page } from './markup.js';
import { settingsList } from './pages.js';
import { refuse } from './routes.js';
import { addSettingsRoutes, type PageSources } from './routes.js';

export interface AccountsPage {
  /** Holds the token, so it is a secret. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Serves forms for provider accounts and settings of automators on loopback, to users who have its address. The
 * workspace is read anew for each request. Only POST changes anything.
 */
export async function startAccountsPage({ open, usersOf }: PageSources): Promise<AccountsPage> {
  const token = randomBytes(24).toString('base64url');
  let authority = '';
  const app = createApp(`/${token}`, { open, usersOf }, (context) => admit(context, authority, token));
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

function createApp(base: string, sources: PageSources, check: (context: Context) => void): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(securityHeaders)) context.header(name, value);
    check(context);
    await next();
  });
  for (const [path, { type, text }] of Object.entries(assets))
    app.get(`${base}${path}`, (context) => context.body(text, 200, { 'Content-Type': type }));
  app.get(`${base}/`, async (context) =>
    context.html(page(settingsList(await sources.open(), context.req.query(), base), base)),
  );
  addSettingsRoutes(app, base, sources);
  app.notFound(() => refuse(404, 'Page not found.'));
  app.onError((error, context) => {
    // heddle.yaml was changed meanwhile, or cannot be changed safely.
    const otherwise = error instanceof CliError ? 409 : 500;
    const status = error instanceof HTTPException ? error.status : otherwise;
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
  // A foreign page may point its own name at this machine; the browser then sends that name.
  if (req.header('Host') !== authority) refuse(403, `This page is only available at http://${authority}.`);
  const origin = req.header('Origin');
  if ((req.method !== 'GET' || origin !== undefined) && origin !== `http://${authority}`)
    refuse(403, 'Requests from other pages are not allowed.');
  const [, given = ''] = req.path.split('/');
  // Compared as digests, so that the duration does not depend on the token.
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  if (!timingSafeEqual(digest(given), digest(token)))
    refuse(
      401,
      'The address is incomplete. heddle dev prints it at each start, and generates a new one each time.',
    );
  if (req.method !== 'GET' && req.method !== 'POST') refuse(405, 'Use GET or POST.');
}

/** The page's own files, by their paths after the token: its policy allows no others. */
const assets: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  '/page.css': {
    type: 'text/css; charset=utf-8',
    text: `:root { color-scheme: light dark; --bad: light-dark(#b3261e, #ff8a80); --good: light-dark(#2e7d32, #81c784); --line: light-dark(#d0d0d0, #555) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }
h1, h2, h3 { line-height: 1.25 } h2 { margin-top: 2.5rem } article { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; margin: 1rem 0 }
h3, article p { margin: 0 0 .5rem } dl { margin: 0 0 .8rem } dt { font-weight: 600 } dd { margin: 0 } article dl { font-size: .9rem }
@media (min-width: 40rem) { dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .2rem 1rem } dt { max-width: 14rem } }
label { display: block; font-weight: 600; margin-top: 1.4rem } .need { font-weight: 400; font-size: .85rem; opacity: .8; margin-left: .4rem }
.about { font-size: .9rem; margin: .1rem 0 .3rem } .about p { margin: 0 } .about p + p { opacity: .8 } ::placeholder { color: inherit; opacity: .6 }
input, select, textarea { font: inherit; width: 100%; box-sizing: border-box; padding: .3rem } textarea { resize: vertical }
input[type=checkbox] { width: auto; margin-right: .4rem } .tick { font-weight: 400; margin-top: .3rem } textarea.masked { -webkit-text-security: disc }
.error { color: var(--bad); font-weight: 600; margin: .3rem 0 } [aria-invalid=true] { outline: 2px solid var(--bad) }
.done, .failed { border-left: 4px solid var(--good); padding-left: .8rem; white-space: pre-line } .failed { border-color: var(--bad) }
.actions { display: flex; flex-wrap: wrap; gap: .6rem } .actions .error { flex-basis: 100% }
button, .button { font: inherit; display: inline-block; padding: .3rem 1.1rem; border: 1px solid var(--line); border-radius: .3rem; background: ButtonFace; color: ButtonText; text-decoration: none; cursor: pointer }
form > button { margin-top: 1.5rem } .actions form > button { margin: 0 } button.danger { background: none; border-color: var(--bad); color: var(--bad) } button:disabled { opacity: .5 }
`,
  },
  '/page.js': {
    type: 'text/javascript; charset=utf-8',
    // A double click would submit the form twice, and the second request would fail because the account exists.
    text: `for (const form of document.forms) form.addEventListener('submit', () => form.querySelector('button').disabled = true);
addEventListener('pageshow', () => { for (const form of document.forms) form.querySelector('button').disabled = false; });
document.querySelector('[aria-invalid=true]')?.focus();
const field = (key) => document.getElementById('field.' + key);
const valueOf = (key) => field(key)?.value.trim() || (field(key)?.dataset.fallback ?? '');
const isGiven = (key) => valueOf(key) !== '' || field(key)?.dataset.kept !== undefined;
function requireFields() {
  for (const input of document.querySelectorAll('[data-required-when]')) {
    const conditions = Object.entries(JSON.parse(input.dataset.requiredWhen));
    const isNeeded = conditions.every(([key, condition]) => condition === 'given' ? isGiven(key) : condition.map(String).includes(valueOf(key)));
    input.required = isNeeded && input.dataset.kept === undefined;
    const need = document.getElementById(input.id + '.need');
    need.textContent = isNeeded ? need.dataset.text.replace('required when', 'required, because') : need.dataset.text;
  }
}
for (const event of ['input', 'change', 'pageshow']) addEventListener(event, requireFields);
requireFields();
`,
  },
};
