import { describe, expect, it } from 'vitest';
import { withAccountOf } from '../../../src/model/image/node.js';
import { accountOfNode } from '../../../src/model/image/account-of-node.js';
import { sourceOf } from '../../../src/model/image/spec.js';
import { parseImage } from '../../../src/schema/image/read.js';
import { readImageFile } from '../../../src/schema/image/read.js';
import { formatProblem } from '../../../src/schema/problem.js';

const good = `
name: web
recipe: {provider: local, hardware: small, image: host, services: [app]}
services:
  app: {actions: {install: {type: shell, fields: {script: 'true'}}}}
uploads: [{provider: other}]
validate: {command: 'true', within: 5m}
rebuildAge: 1d
`;

function faults(text: string): string {
  const reading = readImageFile(text, 'image.yaml');
  return reading.ok ? '' : reading.problems.map(formatProblem).join('\n');
}

describe('image.yaml', () => {
  it('is normalised: defaults filled in, and the result is valid input', () => {
    const reading = readImageFile(good, 'image.yaml');
    expect(reading).toMatchObject({
      ok: true,
      spec: {
        name: 'web',
        keep: 2,
        rebuildAge: 86_400,
        uploads: [{ provider: 'other', format: 'tar' }],
        validate: { provider: 'local', hardware: 'small', within: 300 },
      },
    });
    if (!reading.ok) return;
    expect(parseImage(reading.spec)).toEqual(reading);
    expect(sourceOf(reading.spec)).toMatchObject({
      kind: 'recipe',
      system: 'linux',
      cluster: { nodes: { build: { count: 1 } } },
    });
  });

  it("accepts a node instead of a machine, with the node's own settings", () => {
    const reading = readImageFile(
      "name: web\nrecipe: {from: {cluster: shop, node: web-1}}\nvalidate: {command: 'true'}",
      'image.yaml',
    );
    expect(reading).toMatchObject({
      ok: true,
      spec: { validate: { provider: accountOfNode, hardware: accountOfNode } },
    });
    if (!reading.ok) return;
    expect(sourceOf(reading.spec)).toMatchObject({ from: { of: 'cluster', name: 'shop', node: 'web-1' } });
    expect(parseImage(reading.spec)).toEqual(reading);
    expect(
      withAccountOf(reading.spec, { provider: 'local', flavor: 'small', image: 'host', fields: {} }),
    ).toMatchObject({
      recipe: { provider: 'local', hardware: 'small', image: 'host' },
      validate: { provider: 'local', hardware: 'small', command: 'true' },
    });
  });

  it.each([
    [
      'a node of nothing',
      'name: web\nrecipe: {from: {node: web-1}}',
      /image\.yaml:2:\d+: recipe\.from.*either a cluster or a pool/,
    ],
    [
      'a node of two',
      'name: web\nrecipe: {from: {cluster: shop, pool: ci, node: web-1}}',
      /recipe\.from.*either a cluster or a pool/,
    ],
    [
      'a node, and what a node has already',
      'name: web\nrecipe: {from: {cluster: shop, node: web-1}, hardware: small}',
      /recipe\.hardware.*cannot be combined with from/,
    ],
    ['neither a node nor an account', 'name: web\nrecipe: {services: []}', /recipe\.provider.*is missing/],
    [
      'a node whose name is none',
      'name: web\nrecipe: {from: {cluster: shop, node: "../x"}}',
      /recipe\.from\.node/,
    ],
    ['neither recipe nor command', 'name: web', /either a recipe or a command/],
    [
      'a service that is not there',
      good.replace('[app]', '[app, db]'),
      /image\.yaml:3:\d+: recipe\.services.*db/,
    ],
    [
      'an upload to where it was captured',
      good.replace('other', 'local'),
      /uploads\[0\]\.provider.*at which the image is captured/,
    ],
    [
      'a check at a provider that does not get it',
      good.replace("{command: 'true'", '{provider: third'),
      /validate.*third.*does not get the image/,
    ],
    [
      'a format that the command does not make',
      'name: web\ncommand: {run: pack, formats: [raw]}\nuploads: [{provider: local}]',
      /uploads\[0\]\.format.*is tar.*raw/,
    ],
    [
      'a variable without a valid name',
      'name: web\ncommand: {run: pack, formats: [tar], environment: {"A B": x}}\nuploads: [{provider: local}]',
      /command\.environment\["A B"\].*not a valid name/,
    ],
    [
      'a command whose image boots at no provider',
      'name: web\ncommand: {run: pack, formats: [tar]}',
      /has no provider to boot the image at.*validate: false/,
    ],
    ['a key that is misspelt', good.replace('rebuildAge', 'rebuildage'), /rebuildage/],
  ])('is refused with the place: %s', (_title, text, fault) => {
    expect(faults(text)).toMatch(fault);
  });

  it('of another normalised form is refused without an exception', () => {
    for (const value of [undefined, 5, [], {}, { name: 'web', source: { kind: 'recipe' } }])
      expect(parseImage(value).ok).toBe(false);
  });
});
