import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { importNodepool, type NodepoolReading } from '../../src/nodepool/import.js';

/** The Python environment that `npm run setup:extras` makes, with Nodepool and its test fixtures. */
const venv = join(loadConfig({ cwd: '/' }).cacheFolder, 'nodepool');
const isInstalled = existsSync(join(venv, '.nodepool-11.0.0'));

/** Why the other files are not imported: they are invalid, no configuration, or have nothing to import. */
const refused: Readonly<Record<string, string>> = {
  'clouds.yaml': 'labels is missing',
  'config_validate/missing_top_label.yaml': 'labels has no label',
  'config_validate/no_diskimage_name.yaml': 'diskimages.0.name is missing',
  'config_validate/schema_error.yaml': 'labels is missing',
  'config_validate/static_error.yaml': 'labels is missing',
  'config_validate/yaml_error.yaml': 'invalid YAML',
  'static-update.yaml': 'is reached by winrm',
  'webapp.yaml': 'labels is missing',
};

const known = ['static', 'fake', 'openstack', 'aws', 'metastatic'];

function fixtures(): ReadonlyMap<string, string> {
  const [python = ''] = readdirSync(join(venv, 'lib'));
  const folder = join(venv, 'lib', python, 'site-packages', 'nodepool', 'tests', 'fixtures');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(
    names
      .filter((name) => name.endsWith('.yaml'))
      .toSorted()
      .map((name) => [name, fillIn(readFileSync(join(folder, name), 'utf8'))]),
  );
}

/** Nodepool's tests fill in values such as {subnet_id} before they read a file. */
function fillIn(text: string): string {
  return text.replaceAll(/\{(\w+)\}/g, '$1');
}

const importText = (text: string, file: string): NodepoolReading =>
  importNodepool(text, file, { name: 'ci', simulated: 'local', variables: { NODEPOOL_PORT: '8005' } });

/** Drivers of the providers in a file that Heddle does not have. */
function foreignDrivers(text: string): readonly string[] {
  try {
    const { providers } = parse(text) as { readonly providers?: readonly { readonly driver?: string }[] };
    const drivers = (Array.isArray(providers) ? providers : []).map(({ driver = 'openstack' }) => driver);
    return [...new Set(drivers.filter((driver) => !known.includes(driver)))];
  } catch {
    return [];
  }
}

function textOf(reading: NodepoolReading): string {
  const problems = reading.ok ? reading.remarks : reading.problems;
  return problems.map(({ path, wrong, right = '' }) => `${path.join('.')} ${wrong} ${right}`).join('\n');
}

describe.skipIf(!isInstalled)("Nodepool's own configuration fixtures", () => {
  const files = isInstalled ? fixtures() : new Map<string, string>();
  test('are imported, or the error names each driver that Heddle lacks', () => {
    const results = [...files].map(([file, text]) => {
      const reading = importText(text, file);
      const foreign = foreignDrivers(text);
      for (const driver of foreign) expect(textOf(reading), file).toContain(driver);
      if (reading.ok) return Object.keys(reading.pools['pools'] as object).length > 0 ? 'pool' : 'images';
      if (foreign.length > 0) return 'driver';
      expect.soft(Object.keys(refused)).toContain(file);
      expect.soft(textOf(reading), file).toContain(refused[file]);
      return 'refused';
    });
    const counts = Object.fromEntries(
      [...new Set(results)].map((kind) => [kind, results.filter((other) => other === kind).length]),
    );
    expect(counts).toEqual({ pool: 127, images: 4, driver: 46, refused: 8 });
  });
});
