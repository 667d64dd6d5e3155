import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromium, openBrowser, type Browser } from '../harness/account-page/browser.js';
import { newFolder } from '../harness/folder.js';
import { until } from '../harness/until.js';

const base = '/v1.10/';
const root = join(import.meta.dirname, '..', '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

describe('the site of docs/', () => {
  let out: string;
  let pages: readonly string[];
  beforeAll(async () => {
    out = newFolder();
    await writeFile(join(out, 'versions.json'), JSON.stringify([{ version: 'v1.9', base: '/v1.9/' }]));
    await promisify(execFile)('node', ['tools/docs.mjs', '--base', base, '--out', out], { cwd: root });
    pages = readdirSync(join(out, base), { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.html') && !path.startsWith('files/') && path !== '404.html',
    );
  }, 600_000);

  it('stands beside those of earlier releases, the newest first', () => {
    expect(JSON.parse(readFileSync(join(out, 'versions.json'), 'utf8'))).toEqual([
      { version: 'v1.10', base },
      { version: 'v1.9', base: '/v1.9/' },
    ]);
    expect(readFileSync(join(out, 'index.html'), 'utf8')).toContain(`url=${base}"`);
  });

  it('has links only to pages, headings and files that it contains', () => {
    expect(pages.length).toBeGreaterThan(90);
    const links = pages.flatMap((page) =>
      [...textOf(page).matchAll(/<a\b[^>]*? href="([^"]*)"/g)].map(([, href = '']) => ({ page, href })),
    );
    expect(links.length).toBeGreaterThan(2_000);
    expect(links.filter(({ page, href }) => !leadsSomewhere(page, href))).toEqual([]);
    expect(leadsSomewhere('index.html', `${base}guides/absent.html`)).toBe(false);
    expect(leadsSomewhere('index.html', `${base}guides/pools.html#absent`)).toBe(false);
  });

  describe.skipIf(chromium === undefined)(
    'in Chromium (skipped where Chromium is missing: npm run setup:extras installs it)',
    () => {
      let server: Server;
      let origin: string;
      let browser: Browser;
      beforeAll(async () => {
        server = createServer(({ url = '/' }, response) => {
          const file = fileOf(new URL(url, 'http://site').pathname);
          response.writeHead(file === undefined ? 404 : 200, {
            'content-type': types[extname(file ?? '')] ?? 'text/plain',
          });
          response.end(file === undefined ? 'not found' : readFileSync(file));
        });
        await once(server.listen(0, '127.0.0.1'), 'listening');
        origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        browser = await openBrowser(chromium ?? '', join(newFolder(), 'profile'));
      });
      afterAll(async () => {
        await browser.close();
        server.closeAllConnections();
        server.close();
      });

      it('fits windows of 360 and 1280 pixels and asks no other host for anything', async () => {
        browser.takeRequests();
        const wide: unknown[] = [];
        for (const page of pages) {
          await browser.open(`${origin}${base}${page}`);
          for (const width of [360, 1280]) {
            await browser.resize(width);
            const needed = Number(await browser.see('document.documentElement.scrollWidth'));
            if (needed > width) wide.push({ page, width, needed });
          }
        }
        expect(wide).toEqual([]);
        const requests = browser.takeRequests();
        expect(requests.length).toBeGreaterThan(pages.length);
        expect(requests.filter((url) => !url.startsWith(origin) && !url.startsWith('data:'))).toEqual([]);
      });

      it('finds a page by its words and shows the version', async () => {
        await browser.resize(1280);
        await browser.open(`${origin}${base}`);
        await until('the versions', () =>
          browser.see(`document.querySelector('select.site-version')?.selectedOptions[0]?.text === 'v1.10'`),
        );
        await browser.see(`document.querySelector('.VPNavBarSearch button').click()`);
        await until('the search', () => browser.see(`document.getElementById('localsearch-input') !== null`));
        await browser.type('localsearch-input', 'sweep.minimumAge');
        await until('a result', async () => {
          const found = await browser.see(
            `[...document.querySelectorAll('.VPLocalSearchBox a.result')].map(({ href }) => href).join(' ')`,
          );
          return String(found).includes('/guides/leaks.html');
        });
      });

      it('shows the version of the package where it has no other releases beside it', async () => {
        await writeFile(join(out, 'versions.json'), JSON.stringify([{ version: 'v1.10', base }]));
        await browser.open(`${origin}${base}`);
        expect(await browser.see(`document.querySelector('span.site-version').textContent`)).toBe(version);
      });
    },
  );

  function textOf(page: string): string {
    return readFileSync(join(out, base, page), 'utf8');
  }

  /** The file that a server of static files would answer with. */
  function fileOf(path: string): string | undefined {
    const file = join(out, decodeURIComponent(path));
    if (!existsSync(file)) return undefined;
    if (!statSync(file).isDirectory()) return file;
    return existsSync(join(file, 'index.html')) ? join(file, 'index.html') : undefined;
  }

  function leadsSomewhere(page: string, href: string): boolean {
    if (/^[a-z]+:/.test(href)) return true;
    const [path = '', anchor] = href.replaceAll('&amp;', '&').split('#');
    const target = path === '' ? posix.join(base, page) : posix.resolve(base, posix.dirname(page), path);
    const file = fileOf(target);
    if (file === undefined) return false;
    return anchor === undefined || readFileSync(file, 'utf8').includes(`id="${decodeURIComponent(anchor)}"`);
  }
});

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};
