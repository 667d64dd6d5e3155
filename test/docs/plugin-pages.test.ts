import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Json } from '../../src/model/json.js';
import { emptyCluster } from '../../src/model/plan/facts/current.js';
import { bootstrapDigest } from '../../src/model/plan/facts/digest.js';
import { taskCount } from '../../src/model/plan/plan.js';
import { planOperation } from '../../src/model/plan/plan-operation.js';
import { findPlugins } from '../../src/plugins/find-plugins.js';
import { loadSpecFile } from '../../src/schema/cluster/read.js';
import { checkFields, checkUserFields } from '../../src/schema/fields.js';
import { readImageFile } from '../../src/schema/image/read.js';
import { readRegistrations } from '../../src/schema/machine/registration.js';
import { readPoolsFile } from '../../src/schema/pool/read.js';
import { formatProblem } from '../../src/schema/problem.js';
import { readConfigFile } from '../../src/schema/read-config.js';
import { newFolder } from '../harness/folder.js';
import { automators, digest, placementOf } from '../harness/model/specs.js';

const root = join(import.meta.dirname, '..', '..');
const builtIn = join(root, 'src', 'plugins');
const { found } = findPlugins([builtIn], builtIn);
const pages = ['providers', 'automators'].flatMap((folder) =>
  readdirSync(join(root, 'docs/reference', folder)).map((name) => ({
    type: folder.slice(0, -1),
    name: name.replace('.md', ''),
    page: `docs/reference/${folder}/${name}`,
  })),
);
// Pools have a guide of their own.
const plugins = found.map(({ descriptor }) => descriptor).filter(({ name }) => name !== 'pool');

describe('pages of plugins', () => {
  test('are there for each plugin that comes with Heddle', () => {
    expect(pages.map(({ type, name }) => `${type} ${name}`).toSorted()).toEqual(
      plugins.map(({ type, name }) => `${type} ${name}`).toSorted(),
    );
  });

  test.each(pages)('list the fields of $type $name', ({ name, page }) => {
    expect(read(page)).toContain(`\n<!-- fields: ${name} -->\n`);
  });

  test.each(pages)(
    'have a cluster file of $type $name that is valid and has a plan',
    ({ type, name, page }) => {
      const spec = specOf(page);
      const accounts = type === 'provider' ? accountsOf(page) : {};
      for (const [group, { provider, fields = {} }] of Object.entries(spec.nodes)) {
        if (type !== 'provider') continue;
        const account = accounts[provider ?? ''];
        expect(account?.type).toBe(name);
        const descriptor = descriptorOf('provider', name);
        expect(
          checkFields(descriptor, 'admin', account?.fields ?? {}, []).problems.map(formatProblem),
        ).toEqual([]);
        expect(
          checkUserFields(descriptor, { fields: account?.fields ?? {} }, fields, [group]).map(formatProblem),
        ).toEqual([]);
      }
      const actions = Object.values(spec.services).flatMap(({ actions: of }) => Object.values(of));
      if (type === 'automator') expect(actions.map((action) => action.type)).toContain(name);
      for (const action of actions)
        expect(
          checkFields(descriptorOf('automator', action.type), 'user', action.fields, []).problems.map(
            formatProblem,
          ),
        ).toEqual([]);

      const plan = planOperation({
        intent: { kind: 'apply' },
        spec,
        current: emptyCluster,
        digest,
        bootstrapDigest: (services) => bootstrapDigest(automators, spec.services, services, digest),
        placements: Object.fromEntries(
          Object.entries(spec.nodes).map(([group, one]) => [group, [placementOf(one)]]),
        ),
      });
      expect(taskCount(plan)).toBeGreaterThan(0);
    },
  );
});

test.each([
  ['docs/reference/pools-file.md', readPoolsFile],
  ['docs/reference/image-file.md', readImageFile],
  ['docs/reference/machines-file.md', readMachinesFile],
])('the file in %s is valid', (page, readFile) => {
  expect(blocksOf(page).length).toBeGreaterThan(0);
  for (const block of blocksOf(page)) expect(readFile(block, page)).toMatchObject({ ok: true });
});

test.each([
  ['docs/guides/migration/ansible.md', 'static'],
  ['docs/guides/migration/terraform.md', 'aws'],
  ['docs/guides/vault.md', 'example'],
])('the accounts in %s have the fields of provider %s, and its cluster files are valid', (page, type) => {
  const [account] = Object.values(accountsOf(page));
  expect(account?.type).toBe(type);
  for (const [key] of Object.entries(account?.fields ?? {}))
    expect(Object.keys(descriptorOf('provider', type).fields?.admin ?? {})).toContain(key);
  if (!page.includes('migration')) return;
  const actions = Object.values(specOf(page).services).flatMap(({ actions: of }) => Object.values(of));
  for (const action of actions)
    expect(checkFields(descriptorOf('automator', action.type), 'user', action.fields, []).problems).toEqual(
      [],
    );
});

function readMachinesFile(text: string, page: string) {
  const { machines } = parse(text) as { readonly machines: readonly Json[] };
  const defaults = { provider: 'rack', flavor: 'blade', image: 'host', fields: {}, system: 'linux' };
  return readRegistrations(
    machines.map((value) => ({ value })),
    page,
    defaults,
  );
}

function specOf(page: string) {
  const files = blocksOf(page).filter((block) => /^name: /.test(block));
  expect(files.length).toBeGreaterThan(0);
  const folder = newFolder();
  for (const [, file = ''] of (files[0] ?? '').matchAll(/\{file: (\.\/[^}]+)\}/g)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), 'text\n');
  }
  writeFileSync(join(folder, 'cluster.yaml'), files[0] ?? '');
  const reading = loadSpecFile(join(folder, 'cluster.yaml'));
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
  return reading.spec;
}

function accountsOf(page: string) {
  const block = blocksOf(page).find((text) => text.startsWith('providers:')) ?? '';
  const reading = readConfigFile(block, page);
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
  return reading.config.providers;
}

function descriptorOf(type: string, name: string) {
  const descriptor = plugins.find((one) => one.type === type && one.name === name);
  if (descriptor === undefined) throw new Error(`there is no ${type} ${name}`);
  return descriptor;
}

function blocksOf(page: string): readonly string[] {
  return [...read(page).matchAll(/^( *)```yaml\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

function read(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}
