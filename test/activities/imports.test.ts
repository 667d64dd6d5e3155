import { expect, it } from 'vitest';
import { readImports } from '../../src/activities/cluster/imports.js';
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
