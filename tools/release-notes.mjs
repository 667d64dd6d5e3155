// @ts-check
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMain, root, runMain } from './environment.mjs';

/**
 * The section of a release in the changelog. Throws if the tag is not that of the package, or if the section
 * has no date.
 * @param {string} tag such as v0.2.0
 * @param {string} version of the package
 * @param {string} changelog
 */
export function releaseNotes(tag, version, changelog) {
  if (tag !== `v${version}`) throw new Error(`the tag is ${tag}, but package.json has version ${version}`);
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.startsWith(`[${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section ${version}`);
  const [heading = '', ...lines] = section.split('\n');
  if (!/ - \d{4}-\d{2}-\d{2}$/.test(heading))
    throw new Error(`the section ${version} of CHANGELOG.md has no date: "${heading}"`);
  return `${lines.join('\n').trim()}\n`;
}

if (isMain(import.meta.url))
  await runMain(async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const changelog = await readFile(join(root, 'CHANGELOG.md'), 'utf8');
    process.stdout.write(releaseNotes(process.argv[2] ?? '', version, changelog));
  });
