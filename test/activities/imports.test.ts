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
        Object.keys(values).map((output) => [output, { from: 'cluster/c-1', output, format: 'line' }]),
      ),
    } as unknown as ClusterSpec,
  );
  expect(problems).toMatchObject([
    {
      path: ['variables', 'large'],
      wrong: expect.stringMatching(/these values have \d+ bytes in total as JSON, and the limit is 30000$/),
    },
  ]);
});

const secret = 'hunter2 and more';

// Promise: imports-fit
it.each([
  [{}, 'db://10.0.0.1:5432', undefined],
  [{}, '$(touch /tmp/x)', '"$(touch /tmp/x)" is not a word (letters, digits and . _ : / @ + -)'],
  [{}, 'a b', '"a b" is not a word'],
  [{}, 'a\n', 'is not a word'],
  [{}, 80, '80 is not text'],
  [{ type: 'number' }, 80, undefined],
  [{ type: 'number' }, '80', '"80" is not a number'],
  [{ type: 'list' }, ['10.0.0.1', '10.0.0.2'], undefined],
  [{ type: 'list' }, ['10.0.0.1', "'; id"], 'is not a word'],
  [{ type: 'map' }, { a: { b: ['c'] } }, undefined],
  [{ type: 'map' }, { '$(id)': 1 }, 'has a key that is not a word'],
  [{ type: 'map', format: 'text' }, { '$(id)': 1 }, 'has a key that is not a word'],
  [{ format: 'ip' }, '10.0.0.300', 'is not an IP address'],
  [{ format: 'ip' }, '::1', undefined],
  [{ format: 'hostname' }, 'db-1.example.com', undefined],
  [{ format: 'hostname' }, '-o.example.com', 'is not a host name'],
  [{ format: 'url' }, 'https://db.example.com/x?y=1&z=2', undefined],
  [{ format: 'url' }, 'https://db.example.com/$(id)', 'is not a URL'],
  [{ format: 'url' }, 'db.example.com', 'is not a URL'],
  [{ format: 'line' }, secret, undefined],
  [{ format: 'line' }, 'a\nb', 'is not one line of text'],
  [{ format: 'text' }, 'a\nb', undefined],
  [{ pattern: 'v\\d+' }, 'v1', undefined],
  [{ pattern: 'v\\d+' }, 'v1; id', '"v1; id" does not match v\\d+'],
])('a variable with %j and the value %j has the fault: %s', async (declared, value, fault) => {
  const clusters = { outputs: async () => ({ url: { value } }), sources: async () => [] };
  const own = {
    ...spec,
    variables: { url: { from: 'cluster/c-1', output: 'url', ...declared } },
  } as unknown as ClusterSpec;
  const { problems, imports } = await readImports(clusters, own);
  if (fault === undefined) expect([problems, imports]).toMatchObject([[], { url: { value } }]);
  else
    expect([problems, imports]).toMatchObject([
      [{ path: ['variables', 'url'], wrong: expect.stringContaining(fault) as string }],
      {},
    ]);
});

it('a secret value that does not fit is not shown, and a value from before is checked as well', async () => {
  const hidden = {
    outputs: async () => ({ url: { value: secret, secret: true as const } }),
    sources: async () => [],
  };
  const { problems } = await readImports(hidden, spec);
  expect(problems).toMatchObject([
    { wrong: expect.stringContaining('and its value is not a word') as string },
  ]);
  expect(JSON.stringify(problems)).not.toContain(secret);
  const none = { outputs: async () => undefined, sources: async () => [] };
  const kept = await readImports(none, spec, { url: { value: 'a; b', imported: true } });
  expect(kept).toMatchObject({
    imports: {},
    problems: [{ wrong: expect.stringContaining('is not a word') as string }],
  });
});
