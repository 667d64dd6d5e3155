import { expect, it } from 'vitest';
import { maxImportBytes, readImports } from '../../src/activities/cluster/imports.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';

const spec = {
  name: 'web',
  variables: { url: { from: 'cluster/c-1', output: 'url' } },
} as unknown as ClusterSpec;

/** Counts how often clusters are asked for those that they use. */
function reader(uses: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  return {
    asked,
    outputs: async () => ({ url: { value: 'x' } }),
    sources: async (cluster: string) => {
      asked.push(cluster);
      return uses[cluster];
    },
  };
}

it('a circle of many clusters is refused with its whole path', async () => {
  const length = 30;
  const uses = Object.fromEntries(
    Array.from({ length }, (_, index) => [
      `c-${index + 1}`,
      [index + 1 === length ? 'web' : `c-${index + 2}`],
    ]),
  );
  const { problems } = await readImports(reader(uses), spec);
  expect(problems).toMatchObject([
    {
      wrong: expect.stringMatching(
        /^takes its value from cluster c-1, which uses outputs of c-2, .*of c-30, which uses outputs of web$/,
      ),
    },
  ]);
});

it('each cluster is asked once, however many paths lead to it', async () => {
  const width = 12;
  const uses = Object.fromEntries(
    Array.from(
      { length: width },
      (_, index) =>
        [
          [`c-${index + 1}`, [`a-${index + 1}`, `b-${index + 1}`]],
          [`a-${index + 1}`, [`c-${index + 2}`]],
          [`b-${index + 1}`, [`c-${index + 2}`]],
        ] as const,
    ).flat(),
  );
  const clusters = reader(uses);
  const { problems, imports } = await readImports(clusters, spec);
  expect(problems).toEqual([]);
  expect(imports).toMatchObject({ url: { value: 'x' } });
  expect(clusters.asked).toHaveLength(3 * width + 1);
});

it('values that are too large together are refused with the largest of them', async () => {
  const values = { small: 'x', large: 'x'.repeat(maxImportBytes - 200), medium: 'x'.repeat(200) };
  const { problems } = await readImports(
    {
      outputs: async () =>
        Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }])),
      sources: async () => [],
    },
    {
      name: 'web',
      variables: Object.fromEntries(
        Object.keys(values).map((output) => [output, { from: 'cluster/c-1', output }]),
      ),
    } as unknown as ClusterSpec,
  );
  expect(problems).toMatchObject([
    {
      path: ['variables', 'large'],
      wrong: expect.stringMatching(/they have \d+ bytes as JSON, and at most 30000 are possible$/),
    },
  ]);
});
