import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startMachineService } from '../../../src/testing/machine-service.js';
import { createProviderSuite } from '../../../src/testing/provider-suite.js';
import { writeFiles } from '../../harness/programs/bench.js';
import { caseFailure } from '../../harness/suites/case-failure.js';
import type { Change } from '../../harness/suites/planted.js';
import { newFolder } from '../../harness/folder.js';

// A provider whose machines have several parts, with one fault each.

const plugin = join(import.meta.dirname, '../../harness/plugins/providers/assembled');

async function failure(changes: readonly Change[]): Promise<string | undefined> {
  const folder = newFolder();
  try {
    let code = readFileSync(join(plugin, 'assembled.mjs'), 'utf8');
    for (const [right, wrong] of changes) {
      if (!code.includes(right)) throw new Error(`the plugin has no ${right}`);
      code = code.replace(right, () => wrong);
    }
    writeFiles(folder, {
      'providers/assembled/assembled.json': readFileSync(join(plugin, 'assembled.json'), 'utf8'),
      'providers/assembled/assembled.mjs': code,
    });
    return await caseFailure(
      createProviderSuite({
        name: 'assembled',
        folders: [folder],
        endpoint: 'endpoint',
        patienceMs: 20_000,
        open: async () => {
          const service = await startMachineService();
          const { endpoint, apiKey } = service;
          return { admin: { endpoint, apiKey }, flavor: 'tiny', image: 'host', close: () => service.close() };
        },
      }),
      'half-made',
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const complete = 'volume?.machine === id && address?.machine === id';
const record = 'this.record)';

describe('the suite of providers, for machines of several parts,', () => {
  test.concurrent('passes a plugin without a fault', async () => {
    expect(await failure([])).toBeUndefined();
  });

  test.concurrent.each<readonly [string, readonly Change[], string]>([
    [
      'that finds a machine without its attachments as created',
      [[complete, 'volume !== undefined && address !== undefined']],
      'find returns `created` for a machine that may lack a part',
    ],
    [
      'that makes a second server when it continues',
      [['return found && { providerid: found.id };', 'return undefined;']],
      'find and the next attempt show different machines',
    ],
    [
      'that returns less when it continues',
      [
        [
          record,
          '{ read: async () => (await this.record.read()) && { volume: {} }, write: (made) => this.record.write(made) })',
        ],
      ],
      'the next attempt returns another result than an undisturbed CREATE',
    ],
  ])('detects one %s', async (_what, changes, message) => {
    expect(await failure(changes)).toContain(message);
  });
});
