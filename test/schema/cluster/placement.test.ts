import { describe, expect, test } from 'vitest';
import { parseSpec } from '../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../src/schema/problem.js';

const read = (app: object) => parseSpec({ name: 'web', nodes: { app: { count: 1, ...app } } });

function groupOf(app: object): object | undefined {
  const parsed = read(app);
  if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
  return parsed.spec.nodes['app'];
}

describe("the origin of a group's nodes", () => {
  test('a pool and a label stand for an account that every worker has', () => {
    expect(groupOf({ pool: 'ci', label: 'small', fields: { priority: 7 } })).toMatchObject({
      provider: 'pool',
      hardware: 'small',
      image: 'default',
      fields: { pool: 'ci', priority: 7 },
      confirmWithin: 24 * 60 * 60,
    });
    expect(groupOf({ pool: 'ci', label: 'small', confirmWithin: '1m' })).toMatchObject({ confirmWithin: 60 });
  });

  test('an alternative inherits nothing if it is a pool or replaces one', () => {
    const local = { provider: 'local', hardware: 'large', image: 'host', fields: { a: 1 } };
    expect(groupOf({ pool: 'ci', label: 'small', alternatives: [{ provider: 'local' }] })).toMatchObject({
      alternatives: [{ provider: 'local', hardware: 'default', image: 'default', fields: {} }],
    });
    expect(groupOf({ pool: 'ci', label: 'small', alternatives: [{ provider: 'local' }] })).not.toHaveProperty(
      'confirmWithinMs',
    );
    expect(
      groupOf({ ...local, alternatives: [{ pool: 'ci', label: 'small' }, { provider: 'other' }] }),
    ).toMatchObject({
      ...local,
      alternatives: [
        { provider: 'pool', hardware: 'small', image: 'default', fields: { pool: 'ci' } },
        { provider: 'other' },
      ],
    });
  });

  test.each<readonly [string, object, readonly RegExp[]]>([
    ['neither', {}, [/nodes\.app\.provider: is missing/]],
    [
      'both',
      { provider: 'local', pool: 'ci', label: 'a' },
      [/nodes\.app\.provider: "local" cannot be combined with pool/],
    ],
    ['no label', { pool: 'ci' }, [/nodes\.app\.label: is missing/]],
    ['no pool', { provider: 'local', label: 'a' }, [/nodes\.app\.label: "a" requires pool/]],
    [
      'what the label says',
      { pool: 'ci', label: 'a', hardware: 'large', image: 'host' },
      [
        /nodes\.app\.hardware: "large" cannot be combined with pool/,
        /nodes\.app\.image: "host" cannot be combined with pool/,
      ],
    ],
    [
      'an alternative of nothing',
      { provider: 'local', alternatives: [{ hardware: 'large' }] },
      [/nodes\.app\.alternatives\[0\]\.provider: is missing/],
    ],
  ])('refuses %s', (_what, app, expected) => {
    const parsed = read(app);
    const problems = parsed.ok ? [] : parsed.problems.map(formatProblem);
    expect(problems).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(problems[index]).toMatch(pattern);
  });
});
