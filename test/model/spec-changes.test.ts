import { describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { specChanges } from '../../src/model/cluster/spec-changes.js';
import { diffLines } from '../../src/model/cluster/line-diff.js';
import { group, service, spec } from '../harness/model/specs.js';
import { fc } from '../harness/property.js';

function changes(
  before: Partial<ClusterSpec>,
  after: Partial<ClusterSpec>,
): Readonly<Record<string, readonly string[]>> {
  const whole = (part: Partial<ClusterSpec>): ClusterSpec =>
    spec({ app: group(1, 'app') }, { app: service() }, part);
  return Object.fromEntries(
    specChanges(whole(before), whole(after)).map(({ path, lines }) => [
      path,
      lines.map(({ sign, text }) => `${sign}${text}`),
    ]),
  );
}

const script = (text: string): Partial<ClusterSpec> => ({
  services: { app: service({ actions: { start: { type: 'shell', fields: { script: text } } } }) },
});

describe('changes of a spec', () => {
  it('equal specs have no changes', () => {
    expect(changes({}, {})).toEqual({});
  });

  it('name the place, and show the old and the new value', () => {
    expect(
      changes(
        { config: { greeting: 'hello', colour: 'red' } },
        { config: { greeting: 'bye', colour: 'red' } },
      ),
    ).toEqual({ 'config.greeting': ['-hello', '+bye'] });
    expect(changes({ nodes: { app: group(1) } }, { nodes: { app: group(3), db: group(1) } })).toMatchObject({
      'nodes.app.count': ['-1', '+3'],
      'nodes.db': expect.arrayContaining(['+  "count": 1,']),
    });
  });

  it('show of a script the changed lines and those near them', () => {
    const text = ['set -e', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'];
    expect(changes(script(text.join('\n')), script(text.with(4, 'FOUR').join('\n')))).toEqual({
      'services.app.actions.start.fields.script': [' two', ' three', '-four', '+FOUR', ' five', ' six'],
    });
  });

  it('mask secrets by reference, by name and in texts, and say that they changed', () => {
    const before = {
      password: 'hunter2',
      token: { secret: 'env:ONE' },
      nested: { list: [{ apiKey: 'k1' }] },
      script: 'DB_PASSWORD=hunter2 start',
    };
    const after = {
      password: 'hunter3',
      token: { secret: 'env:TWO' },
      nested: { list: [{ apiKey: 'k2' }] },
      script: 'DB_PASSWORD=hunter3 start',
    };
    const found = changes({ config: before }, { config: after });
    expect(Object.keys(found)).toEqual([
      'config.password',
      'config.token',
      'config.nested.list',
      'config.script',
    ]);
    for (const lines of Object.values(found)) expect(lines).toEqual(['-(secret)', '+(secret), another']);
    expect(JSON.stringify(found)).not.toMatch(/hunter|env:|k1|k2/);
  });

  it('mask user and password of addresses', () => {
    const [before, after] = ['https://me:hunter2@one/x', 'https://me:hunter3@two/x'];
    expect(changes(script(`get ${before}`), script(`get ${after}`))).toEqual({
      'services.app.actions.start.fields.script': [
        '-get https://(secret)@one/x',
        '+get https://(secret)@two/x',
      ],
    });
  });
});

describe('a comparison of lines', () => {
  it('gives both texts back for any texts', () => {
    const texts = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const lines = diffLines(before, after);
        const kept = (sign: string): number => lines.filter((line) => line.sign === sign).length;
        expect(before.length - kept('-')).toBe(after.length - kept('+'));
        expect(lines.some(({ sign }) => sign !== ' ')).toBe(before.join() !== after.join());
      }),
    );
  });
});
