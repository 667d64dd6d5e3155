import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono, type Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { CliError } from '../../errors.js';
import { assets } from './assets.js';
import { page } from './markup.js';
import { settingsList } from './pages.js';
import { refuse } from './refuse.js';
import { addSettingsRoutes, type PageSources } from './routes.js';

export interface AccountsPage {
  /** Holds the token, so it is a secret. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Serves forms for provider accounts and settings of automators on loopback, to users who have
 * its address. The workspace is read anew for each request. Only POST changes anything.
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
