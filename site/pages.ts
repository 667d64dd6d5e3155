import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this checkout. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const docs = join(root, 'docs');

/**
 * The kinds of pages, one folder of docs/ each. The index page of a kind declares its pages: the headings and links
 * of its lists, in their order, are the sidebar. A folder without an index page is not there yet.
 */
export const kinds = ['tutorials', 'guides', 'reference', 'explanation', 'developers', 'decisions'].filter(
  (kind) => existsSync(join(docs, kind, 'index.md')),
);

export interface PageLink {
  readonly text: string;
  /** Path from docs/, such as `guides/pools.md`. The index page of a folder in a kind has pages of its own. */
  readonly page: string;
}

export interface PageGroup {
  readonly title: string;
  readonly links: readonly PageLink[];
}

export interface KindIndex {
  readonly title: string;
  readonly groups: readonly PageGroup[];
}

export function readIndex(kind: string): KindIndex {
  const lines = readFileSync(join(docs, kind, 'index.md'), 'utf8').split('\n');
  const groups: { title: string; links: PageLink[] }[] = [];
  for (const line of lines) {
    const heading = /^## (.+)$/.exec(line)?.[1];
    if (heading !== undefined) groups.push({ title: heading, links: [] });
    const [, text, target] = /^- \[(.+?)\]\(([^)#:]+\.md)\)/.exec(line) ?? [];
    if (text === undefined || target === undefined) continue;
    if (groups.length === 0) groups.push({ title: '', links: [] });
    groups.at(-1)?.links.push({ text: plain(text), page: posix.join(kind, target) });
  }
  const title = /^# (.+)$/m.exec(lines.join('\n'))?.[1] ?? kind;
  return { title, groups: groups.filter(({ links }) => links.length > 0) };
}

/** Pages of a kind that its index page does not list, lists twice, or lists although they do not exist. */
export function wronglyListed(kind: string): readonly string[] {
  const listed = readIndex(kind).groups.flatMap(({ links }) => links.map(({ page }) => page));
  const inner = listed
    .filter((page) => page.startsWith(`${kind}/`) && page.endsWith('/index.md'))
    .map(dirname);
  const pages = readdirSync(join(docs, kind), { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join(kind, path))
    .filter((path) => path.endsWith('.md') && path !== `${kind}/index.md`)
    .filter((path) => !inner.includes(dirname(path)) || path.endsWith('/index.md'));
  const own = listed.filter((page) => page.startsWith(`${kind}/`));
  return [
    ...inner.flatMap(wronglyListed),
    ...pages.filter((page) => !own.includes(page)),
    ...listed.filter((page) => !existsSync(join(docs, page))),
    ...own.filter((page, at) => own.indexOf(page) !== at),
  ];
}

/** As GitHub does it, so that links to headings work in both places. */
export function slugOf(heading: string): string {
  return plain(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

function plain(text: string): string {
  return text.replaceAll(/[`*]/g, '').trim();
}
