import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { defineConfig, type DefaultTheme } from 'vitepress';
import { kinds, readIndex, root, slugOf, wronglyListed, type PageLink } from '../pages.js';

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
/** Where the site is served, such as /v0.2/; tools/docs.mjs sets it. */
const base = process.env['HEDDLE_DOCS_BASE'] ?? '/';

const wrong = kinds.flatMap(wronglyListed);
if (wrong.length > 0)
  throw new Error(`The index page of its folder must list each page once: ${wrong.join(', ')}`);

/** Files outside of docs/ that pages link to; the build copies them into the site. */
const linkedFiles = new Set<string>();

export default defineConfig({
  title: 'Heddle',
  description: 'A durable cluster provisioner on Temporal',
  lang: 'en',
  base,
  srcDir: '../docs',
  cacheDir: 'node_modules/.vitepress',
  outDir: process.env['HEDDLE_DOCS_OUT'] ?? 'dist',
  metaChunk: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: icon() }]],
  themeConfig: {
    version,
    nav: [
      ...kinds.filter((kind) => kind !== 'decisions').map(navItem),
      { component: 'SiteVersion' } as DefaultTheme.NavItem,
    ],
    sidebar: Object.fromEntries(kinds.map((kind) => [`/${kind}/`, sidebar(kind)])),
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { detailedView: false } },
    externalLinkIcon: true,
  },
  markdown: {
    anchor: { slugify: slugOf },
    config(md) {
      // Pages are Markdown without HTML: <name> is text, and comments are for tools.
      md.set({ html: false });
      md.core.ruler.before('normalize', 'comments', (state) => {
        state.src = state.src.replaceAll(/^<!--.*?-->\n?/gm, '');
      });
      // Expressions of cluster files look like those of Vue.
      const escape = (html: string): string => html.replaceAll('{{', '&#123;&#123;');
      const { text, code_inline: code } = md.renderer.rules;
      md.renderer.rules['text'] = (...values) => escape(text?.(...values) ?? '');
      // Paths of keys break after their dots, so that tables stay narrow.
      md.renderer.rules['code_inline'] = (...values) =>
        escape(code?.(...values) ?? '').replaceAll(/(?<=[\w;\]])\.(?=[\w&])/g, '.<wbr>');
      md.core.ruler.push('code', ({ tokens }) => {
        for (const token of tokens) if (token.type === 'code_block') token.type = 'fence';
        for (const token of tokens.flatMap(({ children }) => children ?? []))
          if (token.type === 'code_inline' && /^[^\s.]{1,28}$/.test(token.content))
            token.attrSet('class', 'word');
      });
      md.core.ruler.push('files', ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === 'link_open' ? token.attrGet('href') : null;
          const file = href === null ? undefined : fileOutside(env.relativePath as string, href);
          if (file === undefined) continue;
          linkedFiles.add(file);
          token.attrSet('href', `${base}files/${file}`);
          // Otherwise VitePress looks for a page.
          token.attrSet('target', '_self');
        }
      });
    },
  },
  vite: {
    plugins: [
      {
        // Compiled pages import Vue, which is not found from docs/: the build's own one is used.
        name: 'vue-of-site',
        enforce: 'pre',
        resolveId: (id, _importer, { ssr }) =>
          ssr === true && /^vue(?:\/server-renderer)?$/.test(id) ? { id, external: true } : undefined,
      },
    ],
  },
  buildEnd({ outDir }) {
    for (const file of linkedFiles) copyFile(file, join(outDir, 'files', file));
  },
});

function navItem(kind: string): DefaultTheme.NavItem {
  const active = kind === 'developers' ? '^/(developers|decisions)/' : `^/${kind}/`;
  return { text: readIndex(kind).title, link: `/${kind}/`, activeMatch: active };
}

function sidebar(kind: string): DefaultTheme.SidebarItem[] {
  const { title, groups } = readIndex(kind);
  return [
    { text: title, link: `/${kind}/` },
    ...groups.map((group) => ({
      text: group.title,
      ...(groups.length > 1 ? { collapsed: false } : {}),
      items: group.links.map((link) => sidebarItem(kind, link)),
    })),
  ];
}

function sidebarItem(kind: string, { text, page }: PageLink): DefaultTheme.SidebarItem {
  const item = { text, link: `/${page.replace(/(?:index)?\.md$/, '')}` };
  if (!page.startsWith(`${kind}/`) || !page.endsWith('/index.md')) return item;
  const { groups } = readIndex(dirname(page));
  const items = groups.flatMap(({ links }) => links.map((link) => sidebarItem(dirname(page), link)));
  return { ...item, collapsed: true, items };
}

/** The path from the root of a file that a page links to and that is not in docs/. */
function fileOutside(page: string, href: string): string | undefined {
  if (/^(?:[a-z]+:|[#/])/.test(href)) return undefined;
  const [path = ''] = href.split('#', 1);
  const file = posix.join('docs', dirname(page), path).replace(/\/$/, '');
  if (file.startsWith('docs/')) return undefined;
  if (!existsSync(join(root, file))) throw new Error(`docs/${page} links to ${href}, which does not exist`);
  return file;
}

/** A folder gets a page that lists its files. */
function copyFile(file: string, target: string): void {
  const source = join(root, file);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target, { recursive: true });
  if (!statSync(source).isDirectory()) return;
  const entries = readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.relative(source, join(entry.parentPath, entry.name)))
    .toSorted();
  const links = entries.map((entry) => `<li><a href="${base}files/${file}/${entry}">${entry}</a></li>`);
  writeFileSync(
    join(target, 'index.html'),
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<title>${file}</title><h1>${file}</h1><ul>${links.join('')}</ul></html>\n`,
  );
}

/** Drawn here: the site asks no other host for anything. */
function icon(): string {
  const threads = [4, 10, 16].map((x) => `<path d="M${x + 2} 3v18"/>`).join('');
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#0f766e" stroke-width="3">${threads}<path d="M2 12h20"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
