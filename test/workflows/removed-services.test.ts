import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { openGroupedClusters } from '../harness/workflows/grouped-clusters.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const clusters = openGroupedClusters();
const { settled, apply, linesOf } = clusters;

const shell = (script: string): object => ({ type: 'shell', fields: { script } });

/** A service that declares no REMOVE, on all nodes; STOP of other ones fails while the file is there. */
function keeping(name: string, services: readonly string[]): ClusterSpec {
  const file = join(clusters.folder, name);
  const note = (what: string): object => shell(`echo "$HEDDLE_NODE ${what}" >>${file}-done`);
  const fails = shell(`case $HEDDLE_NODE in app-2|app-4) [ ! -e ${file}-breaks ] || exit 7;; esac`);
  const all: Readonly<Record<string, object>> = {
    kept: {
      actions: {
        install: shell('true'),
        initialize: note('INITIALIZE'),
        start: note('START'),
        stop: note('STOP'),
      },
    },
    other: { requires: ['kept'], actions: { install: shell('true'), remove: fails } },
  };
  return closed({
    name,
    nodes: { app: nodes(4, services) },
    services: Object.fromEntries(services.map((service) => [service, all[service]])),
  });
}

/**
 * What is done to the services that are taken off is recorded; while the file is there, that
 * fails on app-2 and app-4.
 */
function specOf(name: string, services: readonly string[], more: object = {}): ClusterSpec {
  const file = join(clusters.folder, name);
  const taken = (what: string): object =>
    shell(
      `case $HEDDLE_NODE in app-2|app-4) [ ! -e ${file}-breaks ] || exit 7;; esac; echo "$HEDDLE_NODE ${what}" >>${file}-removed`,
    );
  const all: Readonly<Record<string, object>> = {
    base: { actions: { install: shell('true'), remove: taken('base') } },
    top: { requires: ['base'], actions: { install: shell('true'), remove: taken('top') } },
    stopped: { actions: { install: shell('true'), stop: taken('stopped') } },
    bare: { actions: { install: shell('true') } },
  };
  return closed({
    name,
    nodes: { app: nodes(4, services) },
    services: Object.fromEntries(services.map((service) => [service, all[service]])),
    ...more,
  });
}

const each = (...services: readonly string[]): readonly string[] =>
  services.flatMap((service) => [1, 2, 3, 4].map((node) => `app-${node} ${service}`)).toSorted();

const breakScripts = async (name: string): Promise<void> =>
  writeFile(join(clusters.folder, `${name}-breaks`), '');
const fixScripts = async (name: string): Promise<void> => rm(join(clusters.folder, `${name}-breaks`));

async function removed(name: string): Promise<readonly string[]> {
  return (await linesOf(`${name}-removed`)).toSorted();
}

describe('services that nodes no longer want', () => {
  it('a removal that failed and was cancelled is done by the next apply', async () => {
    const name = 'cancelled';
    expect((await apply(specOf(name, ['base', 'bare']))).state).toBe('done');
    await breakScripts(name);
    expect((await apply(specOf(name, []))).state).toBe('held');
    expect(await removed(name)).toEqual(['app-1 base', 'app-3 base']);
    const { operation } = await clusters.stack.client.cancel(name);
    expect((await settled(name, operation)).state).toBe('cancelled');
    await fixScripts(name);
    expect((await apply(specOf(name, []))).state).toBe('done');
    expect(await removed(name)).toEqual(each('base'));
    expect(await apply(specOf(name, []))).toMatchObject({ state: 'done', tasks: { total: 0 } });
  });

  it('a removal that waited for one that failed is done by the retry', async () => {
    const name = 'waited';
    expect((await apply(specOf(name, ['base', 'top']))).state).toBe('done');
    await breakScripts(name);
    const held = await apply(specOf(name, []));
    expect(held.state).toBe('held');
    expect(await removed(name)).toEqual(['app-1 top', 'app-3 top']);
    await fixScripts(name);
    const { operation } = await clusters.stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('done');
    expect(await removed(name)).toEqual(each('base', 'top'));
  });

  it('a removal that an operation went on without is done by the next apply', async () => {
    const name = 'left';
    const more = { onFailure: 'continue' };
    expect((await apply(specOf(name, ['base'], more))).state).toBe('done');
    await breakScripts(name);
    expect(await apply(specOf(name, [], more))).toMatchObject({ state: 'done', missing: { count: 2 } });
    await fixScripts(name);
    expect((await apply(specOf(name, [], more))).state).toBe('done');
    expect(await removed(name)).toEqual(each('base'));
  });

  it('a service without REMOVE keeps its data when the operation that stopped it is rolled back', async () => {
    const name = 'back';
    expect((await apply(keeping(name, ['kept', 'other']))).state).toBe('done');
    await breakScripts(name);
    expect((await apply(keeping(name, []))).state).toBe('held');
    await fixScripts(name);
    const { operation } = await clusters.stack.client.operate(name, { kind: 'rollback' });
    expect((await settled(name, operation)).state).toBe('done');
    const done = await linesOf(`${name}-done`);
    expect(done.filter((line) => line.endsWith('INITIALIZE')).toSorted()).toEqual(each('INITIALIZE'));
    expect((await apply(keeping(name, []))).state).toBe('done');
    expect(await apply(keeping(name, []))).toMatchObject({ state: 'done', tasks: { total: 0 } });
  });

  it('a service without REMOVE is stopped once, and one without STOP is forgotten', async () => {
    const name = 'stops';
    expect((await apply(specOf(name, ['stopped', 'bare']))).state).toBe('done');
    await breakScripts(name);
    expect((await apply(specOf(name, []))).state).toBe('held');
    await fixScripts(name);
    const { operation } = await clusters.stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('done');
    expect(await removed(name)).toEqual(each('stopped'));
    expect(await apply(specOf(name, []))).toMatchObject({ state: 'done', tasks: { total: 0 } });
    expect(await removed(name)).toEqual(each('stopped'));
  });
});
