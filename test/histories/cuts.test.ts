import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type KeyRing, parseKeyRing } from '../../src/secrets/keys.js';
import { heddle } from '../../src/temporal-plugin.js';
import { cuts, type WrittenHistory } from '../harness/histories/cut.js';
import { newFolder } from '../harness/folder.js';

const folder = import.meta.dirname;
let keyRing: KeyRing;
const recorded: { readonly name: string; readonly history: WrittenHistory }[] = [];

beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  keyRing = parseKeyRing(await readFile(join(folder, 'test-keys.json'), 'utf8'), 'test-keys.json');
  for (const file of (await readdir(folder)).toSorted())
    if (file.endsWith('.json') && file !== 'test-keys.json')
      recorded.push({
        name: file.replace(/\.json$/, ''),
        history: JSON.parse(await readFile(join(folder, file), 'utf8')) as WrittenHistory,
      });
});

type Cut = (history: WrittenHistory) => WrittenHistory;

/** The errors of the histories that do not replay when they are cut like this, by name. */
async function faultsOf(
  cut: Cut,
  codePath = inject('workflowBundlePath'),
): Promise<Readonly<Record<string, string>>> {
  const histories = recorded.map(({ name, history }) => ({
    workflowId: idOf(history) ?? name,
    history: historyFromJSON(cut(history)),
  }));
  const faults: Record<string, string> = {};
  let index = 0;
  for await (const { error } of Worker.runReplayHistories(
    { workflowBundle: { codePath }, plugins: [heddle({ keys: keyRing })] },
    histories,
  )) {
    const { name = '' } = recorded[index++] ?? {};
    if (error !== undefined) faults[name] = error.message;
  }
  return faults;
}

function idOf({ events }: WrittenHistory): string | undefined {
  const attributes = events[0]?.['workflowExecutionStartedEventAttributes'] as { workflowId?: string };
  return attributes.workflowId;
}

describe('a recorded history gives the same commands', () => {
  it.each(Object.entries(cuts))('when its workflow tasks are %s', async (_name, cut) => {
    expect(await faultsOf(cut)).toEqual({});
  });
});

/** Rules in the built workflows, and what stands there without them. */
const switchedOff = {
  'code is asked again what it waits for': [
    'isFirst = false;',
    'isFirst &&= isTooEarly && inbox.length > 0;',
  ],
} as const;

describe('a recorded history gives other commands when its workflow tasks are merged', () => {
  it.each(Object.entries(switchedOff))('without the rule that %s', async (_rule, [present, instead]) => {
    const copy = newFolder();
    try {
      const bundle = await readFile(inject('workflowBundlePath'), 'utf8');
      const changed = bundle.replace(present, instead);
      expect(changed).not.toBe(bundle);
      const codePath = join(copy, 'workflow-bundle.js');
      await writeFile(codePath, changed);
      const uncut = Object.keys(await faultsOf((history) => history, codePath));
      const merged = Object.keys(await faultsOf(cuts['merged'] as Cut, codePath));
      expect(merged.filter((name) => !uncut.includes(name))).not.toEqual([]);
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  });
});
