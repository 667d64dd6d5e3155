import { describe, expect, it } from 'vitest';
import { parsePool } from '../../../src/schema/pool/read.js';
import { readPoolsFile } from '../../../src/schema/pool/read.js';
import { formatProblem } from '../../../src/schema/problem.js';

const good = `pools:
  ci:
    labels:
      small: {minReady: 2, maxReadyAge: 8h, maxHoldAge: 1d, onReturn: reuse, cleanUp: {script: rm -rf work, timeout: 5m}}
      large: {}
    providerPools:
      main:
        provider: local
        limits: {nodes: 10, cores: 20}
        checkEvery: 1m
        labels:
          small: {hardware: small, image: host, uses: {cores: 1}, confirmWithin: 2m}
          large: {slots: 4, minRetention: 1m}
    tenants:
      acme: {nodes: 3}
`;

function problemsOf(text: string): readonly string[] {
  const reading = readPoolsFile(text, 'pools.yaml');
  return reading.ok ? [] : reading.problems.map(formatProblem);
}

describe('pools.yaml', () => {
  it('is read with its defaults written out, and its normalised form is a valid input', () => {
    const reading = readPoolsFile(good, 'pools.yaml');
    if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
    const [pool] = reading.pools;
    expect(pool).toMatchObject({
      name: 'ci',
      tenants: { acme: { nodes: 3 } },
      labels: {
        small: {
          minReady: 2,
          maxReadyAge: 28800,
          spareAge: 600,
          onReturn: 'reuse',
          cleanUp: { script: 'rm -rf work', timeout: 300 },
        },
        large: { minReady: 0, onReturn: 'delete' },
      },
      providerPools: {
        main: {
          priority: 100,
          launchAttempts: 3,
          checkEvery: 60,
          labels: { small: { uses: { nodes: 1, cores: 1 } }, large: { slots: 4, hardware: 'default' } },
        },
      },
    });
    expect(parsePool(pool)).toEqual({ ok: true, spec: pool });
  });

  it('uses a built image if the provider pool names none, or another one', () => {
    const text = good
      .replace('small: {minReady: 2,', 'small: {libraryImage: web, minReady: 2,')
      .replace('large: {}', 'large: {libraryImage: web}')
      .replace('large: {slots: 4,', 'large: {libraryImage: other, slots: 4,');
    const reading = readPoolsFile(text, 'pools.yaml');
    if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
    expect(reading.pools[0]?.providerPools['main']?.labels).toMatchObject({
      small: { image: 'host' },
      large: { libraryImage: 'other' },
    });
    expect(reading.pools[0]?.providerPools['main']?.labels['small']).not.toHaveProperty('libraryImage');
    const plain = readPoolsFile(text.replace('image: host, ', ''), 'pools.yaml');
    expect(plain.ok && plain.pools[0]?.providerPools['main']?.labels['small']).toMatchObject({
      libraryImage: 'web',
    });
  });

  it.each([
    [
      'a label that is served and not declared',
      good.replace('      large: {}\n', ''),
      'pools.yaml:12:11: pools.ci.providerPools.main.labels.large: label large is not declared. Known: small.',
    ],
    [
      'a label without a provider pool',
      good.replace('          large: {slots: 4, minRetention: 1m}\n', ''),
      'pools.yaml:5:7: pools.ci.labels.large: no provider pool serves this label. Add it under providerPools.<name>.labels, or remove it.',
    ],
    [
      'an unknown key',
      good.replace('checkEvery', 'chekEvery'),
      'pools.yaml:10:9: pools.ci.providerPools.main.chekEvery: is an unknown key. Did you mean "checkEvery"?',
    ],
    [
      'a machine of several nodes without slots',
      good.replace('uses: {cores: 1}', 'uses: {nodes: 2}'),
      'pools.yaml:12:56: pools.ci.providerPools.main.labels.small.uses.nodes: must be 1: each machine is one node. Remove it.',
    ],
    [
      'a limit that no machine fits in',
      good.replace('cores: 20', 'cores: 0.5'),
      'pools.yaml:12:49: pools.ci.providerPools.main.labels.small.uses: a machine uses 1 core, 1 node, more than the limits of the provider pool. Raise the limits, or remove the label.',
    ],
    [
      'a clean-up of nodes that are deleted',
      good.replace('onReturn: reuse, ', ''),
      'pools.yaml:4:61: pools.ci.labels.small.cleanUp: has no effect, because used nodes are deleted. Set onReturn: reuse, or remove it.',
    ],
    [
      'two images',
      good.replace('image: host', 'image: host, libraryImage: web'),
      'pools.yaml:12:49: pools.ci.providerPools.main.labels.small.libraryImage: "web" cannot be combined with image. Name of a built image (heddle image). Nodes are created from its newest ready version, and ready nodes are replaced when a newer version is ready.',
    ],
    [
      'a time that is none',
      good.replace('maxReadyAge: 8h', 'maxReadyAge: soon'),
      'pools.yaml:4:28: pools.ci.labels.small.maxReadyAge: "soon" is not a duration of 1 ms to 30 days. Age after which a ready node is replaced, such as "8h". Default: no limit.',
    ],
    [
      'retention of machines that are not shared',
      good.replace('slots: 4, ', ''),
      'pools.yaml:13:19: pools.ci.providerPools.main.labels.large.minRetention: requires slots: it applies only to machines that several nodes share. Set slots, or remove it.',
    ],
    ['no pool at all', 'pools: {}', 'pools.yaml:1:1: pools: {} has no pool. Pools by name.'],
    [
      'a list',
      '- pools',
      'pools.yaml:1:1: the file must be a mapping: pools: {<name>: {labels, providerPools}}',
    ],
  ])('names the line of %s', (_what, text, expected) => {
    expect(problemsOf(text)).toEqual([expected]);
  });

  it('refuses a pool of another normalised form', () => {
    const { ok } = parsePool({ name: 'ci', labels: {}, providerPools: {}, tenants: {}, more: 1 });
    expect(ok).toBe(false);
    expect(parsePool('ci').ok).toBe(false);
  });
});
