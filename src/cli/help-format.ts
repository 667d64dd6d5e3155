import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Help, type HelpConfiguration } from 'commander';
import { packageFolder } from './package-folder.js';

/** Narrower descriptions stand below their terms. */
const leastColumns = 30;
const indent = 6;

/** How each help page is laid out. */
export const helpFormat: HelpConfiguration = {
  sortSubcommands: false,
  sortOptions: false,
  minWidthToWrap: 20,
  // Below each other if one line is too short.
  commandUsage(this: Help, command) {
    const usage = Help.prototype.commandUsage.call(this, command);
    return this.boxWrap(usage, (this.helpWidth ?? 80) - 7).replaceAll('\n', `\n${' '.repeat(7)}`);
  },
  optionDescription(option) {
    const description = Help.prototype.optionDescription.call(this, option);
    return option.mandatory ? `${description} (required)` : description;
  },
  formatItem(term, termWidth, description, helper) {
    const width = helper.helpWidth ?? 80;
    if (width - termWidth - 4 >= leastColumns)
      return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
    const below = helper.boxWrap(description, width - indent).replaceAll('\n', `\n${' '.repeat(indent)}`);
    return description === '' ? `  ${term}` : `  ${term}\n${' '.repeat(indent)}${below}`;
  },
};

/** The pages of the documentation, which a container does not contain. */
export const pagesFolder = join(packageFolder, 'docs');

/** The end of each help page: examples, and the page of the documentation if it is there. */
export function helpEnd(examples: readonly string[], page: string): string {
  const isThere = existsSync(join(pagesFolder, page));
  return [
    '',
    'Examples:',
    ...examples.map((line) => `  ${line}`),
    ...(isThere ? ['', `More: docs/${page}`] : []),
  ].join('\n');
}
