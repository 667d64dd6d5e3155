import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { EncryptionCodec } from '../../src/secrets/codec.js';
import { type KeyRing, parseKeyRing } from '../../src/secrets/keys.js';
import { heddle } from '../../src/temporal-plugin.js';
import { newFolder } from '../harness/folder.js';

const folder = import.meta.dirname;
const wanted = [
  'adopted',
  'artifact-part',
  'artifacts',
  'child',
  'claims',
  'continued-as-new-1',
  'continued-as-new-2',
  'create',
  'delete',
  'delete-preempts-create',
  'delivery',
  'events',
  'exec',
  'failed-and-retried',
  'group-collected-1',
  'group-collected-2',
  'image',
  'lender',
  'lock',
  'machine',
  'machine-refreshed',
  'machine-reserved',
  'machine-written-twice',
  'node-machine-captured',
  'node-machine-loaded',
  'paused-and-cancelled',
  'periodic-checks',
  'plan',
  'pool',
  'pool-batches',
  'pool-built',
  'pool-deleted',
  'rate-limiter',
  'reconfigure',
  'refused-after-termination',
  'replace',
  'reservations',
  'reservations-with-webhooks',
  'restart',
  'revision',
  'rolled-back',
  'rolled-back-to-revision',
  'scale',
  'scale-down',
  'scale-up',
  'start',
  'stop',
  'sweep',
  'with-groups-1',
  'with-groups-2',
  'with-groups-3',
];
let keyRing: KeyRing;
const recorded: { readonly name: string; readonly text: string }[] = [];

beforeAll(async () => {
  // A replay that fails is also logged; the test says it better.
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  keyRing = parseKeyRing(await readFile(join(folder, 'test-keys.json'), 'utf8'), 'test-keys.json');
  const names = (await readdir(folder))
    .filter((file) => file.endsWith('.json') && file !== 'test-keys.json')
    .map((file) => file.replace(/\.json$/, ''));
  for (const name of names.toSorted())
    recorded.push({ name, text: await readFile(join(folder, `${name}.json`), 'utf8') });
});

/** The error of each history, by name; undefined where it replays. */
async function replay(
  codePath: string,
  names?: readonly string[],
): Promise<Readonly<Record<string, Error | undefined>>> {
  const options: ReplayWorkerOptions = { workflowBundle: { codePath }, plugins: [heddle({ keys: keyRing })] };
  const chosen = recorded.filter(({ name }) => names === undefined || names.includes(name));
  const histories = chosen.map(({ name, text }) => ({
    workflowId: idOf(text) ?? name,
    history: historyFromJSON(JSON.parse(text)),
  }));
  const errors: Record<string, Error | undefined> = {};
  let index = 0;
  for await (const { error } of Worker.runReplayHistories(options, histories))
    errors[chosen[index++]?.name ?? ''] = error;
  return errors;
}

/** A cluster's workflow reads its name from its id, which stands in the first event. */
function idOf(text: string): string | undefined {
  const { events } = JSON.parse(text) as {
    events: readonly { workflowExecutionStartedEventAttributes?: { workflowId?: string } }[];
  };
  return events[0]?.workflowExecutionStartedEventAttributes?.workflowId;
}

describe('recorded histories', () => {
  it('exist for each shape', () => {
    expect(recorded.map(({ name }) => name).toSorted()).toEqual(wanted.toSorted());
  });

  it('replay with the present workflows', async () => {
    const errors = await replay(inject('workflowBundlePath'));
    expect(errors).toEqual(Object.fromEntries(recorded.map(({ name }) => [name, undefined])));
  });

  it('do not replay if the order of actions changes', async () => {
    const copy = newFolder();
    try {
      const bundle = await readFile(inject('workflowBundlePath'), 'utf8');
      const changed = bundle.replace(
        'for (let index = owner.position ?? 0;',
        'chain = [...chain.slice(0, 2), ...chain.slice(2).reverse()];\nfor (let index = owner.position ?? 0;',
      );
      expect(changed).not.toBe(bundle);
      const codePath = join(copy, 'workflow-bundle.js');
      await writeFile(codePath, changed);
      const errors = await replay(codePath, ['create', 'failed-and-retried']);
      expect(errors['create']?.name).toBe('DeterminismViolationError');
      expect(errors['create']?.message).toContain('TMPRL1100');
      expect(errors['failed-and-retried']?.name).toBe('DeterminismViolationError');
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  });

  it('contain no trace of the machine that recorded them, inside of payloads neither', async () => {
    const codec = new EncryptionCodec({ keyRing, namespace: 'default', onPlaintext: 'pass' });
    for (const { name, text } of recorded) {
      const sealed = [...text.matchAll(/\{"metadata":(\{[^}]*\}),"data":"([^"]*)"\}/g)].map(
        ([, metadata = '{}', data = '']) => ({
          metadata: Object.fromEntries(
            Object.entries(JSON.parse(metadata) as Record<string, string>).map(([key, value]) => [
              key,
              Buffer.from(value, 'base64'),
            ]),
          ),
          data: Buffer.from(data, 'base64'),
        }),
      );
      expect(sealed.length, name).toBeGreaterThan(0);
      const open = (await codec.decode(sealed))
        .map(({ data }) => Buffer.from(data ?? []).toString('utf8'))
        .join('\n');
      for (const word of [`@${hostname()}`, join(folder, '..', '..')])
        expect(`${text}${open}`.includes(word), `${name} holds ${word}`).toBe(false);
      expect(open, name).not.toMatch(/\/tmp\/heddle-|\/root\/|\/home\/|file:\/\/\/(?!heddle\/)/);
    }
  });
});
