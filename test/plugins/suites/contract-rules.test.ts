import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contractRules, type ContractRule } from '../../../src/testing/contract-rules.js';
import { createAutomatorSuite } from '../../../src/testing/automator-suite.js';
import { createProviderSuite } from '../../../src/testing/provider-suite.js';
import { machineVerbs } from '../../../src/testing/provider-options.js';

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/plugins/contract.md'), 'utf8');
const tables = { 'all plugins': 'all', providers: 'provider', automators: 'automator' } as const;

/** The rules of the page, without Markdown. */
function documentedRules(): readonly ContractRule[] {
  return Object.entries(tables).flatMap(([title, of]) => {
    const [, after = ''] = page.split(`\n| rule for ${title} |`);
    const [table = ''] = after.split('\n\n');
    return [...table.matchAll(/^\| \[([^\]]+)\]\(#[^)]+\) \| (.*?) \| (.*?) \|$/gm)].map(
      ([, name = '', text = '', cases = '']) => ({
        of,
        name,
        text: text.replaceAll('`', ''),
        cases: [...cases.matchAll(/`([^`]+)`/g)].map(([, id = '']) => id),
      }),
    );
  });
}

test('the rules that a failing case names are those of the contract', () => {
  expect(contractRules.length).toBeGreaterThan(15);
  expect(documentedRules()).toEqual(contractRules);
});

test('the cases that the rules name exist', () => {
  const open = () => Promise.reject(new Error('not opened'));
  const machines = Object.keys(machineVerbs) as (keyof typeof machineVerbs)[];
  const suites = {
    provider: createProviderSuite({ name: 'any', uploads: true, machines, open }),
    automator: createAutomatorSuite({ name: 'any', accounts: true, system: true, script: () => ({}) }),
  };
  const ids = Object.entries(suites).flatMap(([type, { cases }]) => cases.map(({ id }) => `${type} ${id}`));
  const missing = contractRules.flatMap(({ of, cases }) =>
    cases.filter((id) => {
      const types = of === 'all' ? Object.keys(suites) : [of];
      return !types.some((type) => ids.includes(`${type} ${id}`));
    }),
  );
  expect(missing).toEqual([]);
});
