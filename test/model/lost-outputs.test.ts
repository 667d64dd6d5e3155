import { expect, it } from 'vitest';
import { lostOutputs } from '../../src/model/cluster/lost-outputs.js';

const readers = { shop: ['url', 'port'], blog: ['url'] };
const output = { value: 'x' } as never;
const gone = (cluster: string, outputs: string): string =>
  `cluster ${cluster} uses ${outputs}, which will be removed: it keeps the last ${outputs.startsWith('outputs') ? 'values' : 'value'}`;

it.each([
  [
    'a delete takes all outputs',
    { kind: 'delete' },
    undefined,
    [gone('shop', 'outputs url, port'), gone('blog', 'output url')],
  ],
  ['an apply takes one', { kind: 'apply' }, { outputs: { url: output } }, [gone('shop', 'output port')]],
  ['an apply keeps all', { kind: 'apply' }, { outputs: { url: output, port: output } }, []],
  ['a restart changes no outputs', { kind: 'restart' }, undefined, []],
] as const)(
  'warns of clusters that use outputs which an operation takes: %s',
  (_title, intent, spec, warnings) => {
    expect(lostOutputs({ readers }, intent, spec)).toEqual(warnings);
  },
);
