import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { metrics, servedName, type MetricName } from '../../src/worker/metric-table.js';
import { lintMetrics } from '../harness/prometheus-lint.js';

const gauge = (name: string, labels = '', help = 'What it is.'): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name}${labels} 1\n`;

const served = (Object.keys(metrics) as readonly MetricName[]).map((name) => ({
  ...metrics[name],
  name: servedName(name),
}));

describe('the check of metrics', () => {
  it('accepts what promtool accepts', () => {
    const histogram = `# HELP a_seconds Time.\n# TYPE a_seconds histogram\na_seconds_bucket{le="+Inf"} 1\na_seconds_sum 1\na_seconds_count 1\n`;
    const counter =
      '# HELP b_total Number.\n# TYPE b_total counter\nb_total{pool="a\\"b",task_queue="x"} 1\n';
    expect(lintMetrics(`${gauge('heddle_pool_nodes', '{pool="ci"}')}${histogram}${counter}`)).toEqual([]);
  });

  it.each([
    ['a missing help text', 'a 1\n', 'no help text'],
    ['a name as help text', gauge('a_b', '', 'a_b'), 'no help text'],
    ['a counter without its suffix', '# HELP a A.\n# TYPE a counter\na 1\n', '"_total"'],
    ['a gauge with the suffix of counters', gauge('a_total'), '"_total"'],
    ['a gauge with a suffix of histograms', gauge('a_count'), 'suffix of histograms'],
    ['a label in camel case', gauge('a', '{taskQueue="x"}'), 'label taskQueue'],
    ['a name in camel case', gauge('aB'), 'snake_case'],
    ['an abbreviated unit', gauge('a_ms'), 'abbreviated'],
    ['a unit that is not a base unit', gauge('a_milliseconds'), 'use base unit "seconds"'],
    ['minutes', gauge('a_minutes'), 'use base unit "seconds"'],
    ['the type in the name', gauge('a_gauge_b'), 'type'],
  ])('finds %s', (_what, text, problem) => {
    expect(lintMetrics(text).join('\n')).toContain(problem);
  });

  it('accepts the names and help texts of all metrics', () => {
    const texts = served.map(({ name, help, kind }) => `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`);
    expect(lintMetrics(texts.join(''))).toEqual([]);
  });
});

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert?: string;
      readonly annotations?: { readonly action: string };
    }[];
  }[];
}

/** Other pages and programs have names of other things that begin in the same way. */
const metricPages = /^(metrics|pools|monitoring)\.md$/;

describe('documents, boards and alert rules', () => {
  const root = join(import.meta.dirname, '../..');
  const mentionedIn = async (folder: string): Promise<readonly (readonly [name: string, file: string])[]> => {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile() && (folder !== 'docs' || metricPages.test(entry.name)))
      .map(({ parentPath, name }) => join(parentPath, name));
    const found = files.map(async (file) =>
      [...(await readFile(file, 'utf8')).matchAll(/(?<![\w./$-])heddle_\w+/g)].map(
        ([name]) => [name, file] as const,
      ),
    );
    return (await Promise.all(found)).flat();
  };

  it('name only metrics that workers serve, and docs/reference/metrics.md names all of them', async () => {
    const folders = await Promise.all(['docs', 'deploy'].map(mentionedIn));
    const names = served.flatMap(({ name, kind }) =>
      kind === 'histogram' ? [name, `${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    );
    expect(folders.flat().filter(([name]) => !names.includes(name))).toEqual([]);
    const documented = folders.flat().flatMap(([name, file]) => (file.endsWith('.md') ? [name] : []));
    expect(documented).toEqual(expect.arrayContaining(served.map(({ name }) => name)));
  });

  it('name the same commands for each alert', async () => {
    const commands = /(?<![\w/])heddle [a-z]+(?: [a-z]+)?/g;
    const rules = parse(await readFile(join(root, 'deploy/prometheus/heddle.rules.yml'), 'utf8')) as Rules;
    const alerts = rules.groups.flatMap((group) =>
      group.rules.flatMap(({ alert, annotations }) =>
        alert === undefined ? [] : [[alert, annotations?.action.match(commands)] as const],
      ),
    );
    const page = await readFile(join(root, 'docs/guides/monitoring.md'), 'utf8');
    const documented = [...page.matchAll(/^\| (`Heddle\w+`(?:, `Heddle\w+`)*) \|(.*)$/gm)].flatMap(
      ([, names = '', text = '']) =>
        [...names.matchAll(/\w+/g)].map(([name]) => [name, text.match(commands)] as const),
    );
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(alerts));
  });
});
