import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { expect, inject, test } from 'vitest';
import { findTemporal, type TemporalSearch } from '../../src/server/find.js';

const nothingThere = '127.0.0.1:1';

function search(changes: Partial<TemporalSearch>): TemporalSearch {
  const places = { temporalCli: undefined, path: '', cacheFolder: `${tmpdir()}/heddle-none`, download: false };
  return { ...places, location: { address: nothingThere }, olderServer: 'refuse', say: () => undefined, ...changes };
}

test('a server that answers at the address is used', async () => {
  const address = inject('temporalAddress');
  const found = await findTemporal(search({ location: { address }, temporalCli: '/none' }));
  expect(found).toEqual({ kind: 'running', server: { address, serverVersion: expect.stringMatching(/^1\.\d+/) } });
});

test('where none answers, a binary to start one from is found', async () => {
  const binary = inject('temporalBinary');
  const found = await findTemporal(search({ path: dirname(binary) }));
  expect(found).toMatchObject({ kind: 'binary', binary: { path: binary, source: 'PATH' } });
});

test('with neither, one error names the address and every other place', async () => {
  await expect(findTemporal(search({}))).rejects.toThrow(/a server at 127\.0\.0\.1:1: connect ECONNREFUSED[^]*TEMPORAL_CLI[^]*PATH[^]*cache/);
});
