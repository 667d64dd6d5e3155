import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { newFolder } from '../harness/folder.js';

const deploy = join(import.meta.dirname, '../../deploy');

/** Runs promtool; `npm run setup:extras` installs it with Prometheus. */
function promtool(...words: readonly string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

test('promtool accepts the configuration, and the alerts fire when they should and only then', () => {
  const folder = join(deploy, 'prometheus');
  expect(promtool('check', 'config', join(folder, 'prometheus.yml'))).toMatchObject({ status: 0 });
  const tested = promtool('test', 'rules', join(folder, 'heddle.rules.test.yml'));
  expect(tested.status, tested.said).toBe(0);
});

test('promtool parses every expression of the dashboard', () => {
  const { panels } = JSON.parse(readFileSync(join(deploy, 'grafana/heddle.json'), 'utf8')) as {
    readonly panels: readonly Panel[];
  };
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(expressions.length).toBeGreaterThan(20);
  const rulesOf = (exprs: readonly string[]): string => {
    const file = join(newFolder(), 'rules.yml');
    const rules = exprs.map((expr, index) => ({ record: `panel:${index}`, expr }));
    writeFileSync(file, stringify({ groups: [{ name: 'panels', rules }] }));
    return file;
  };
  const checked = promtool('check', 'rules', rulesOf(expressions));
  expect(checked.status, checked.said).toBe(0);
  expect(promtool('check', 'rules', rulesOf(['sum by (a (b)'])).status).not.toBe(0);
});
