import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiProxy } from '../../../src/testing/proxy.js';
import type { Suite } from '../../../src/testing/runner.js';
import { createAutomatorSuite, type AutomatorSuiteOptions } from '../../../src/testing/automator-suite.js';
import { startMachineService } from '../../../src/testing/machine-service.js';
import { createProviderSuite, type ProviderSuiteOptions } from '../../../src/testing/provider-suite.js';
import { writeFiles } from '../programs/bench.js';
import { caseFailure } from './case-failure.js';

// The templates of `heddle plugin new`, changed in some places: with a fault, or with further methods.

const templates = join(import.meta.dirname, '../../../src/cli/plugin/templates');

/** A text of the template, and what is in its place. */
export type Change = readonly [right: string, wrong: string];

/** Machines take their time to go, so that a fault shows. */
const deleteDelayMs = 2_000;

/**
 * Why a case of the providers' suite fails for the template with these changes. `front` stands
 * before the API, as a part of the cloud.
 */
export function providerFailure(
  changes: readonly Change[],
  id: string | readonly string[],
  {
    front,
    listLagMs = 0,
    stalls = true,
    ...options
  }: Pick<ProviderSuiteOptions, 'machines'> & {
    readonly front?: (endpoint: string) => Promise<ApiProxy>;
    /** How late the cloud lists a new machine. */
    readonly listLagMs?: number;
    /** Whether the suite may have a machine never boot. */
    readonly stalls?: boolean;
  } = {},
): Promise<string | undefined> {
  return failureOf('provider', changes, id, (folder) =>
    createProviderSuite({
      name: 'planted',
      folders: [folder],
      endpoint: 'endpoint',
      patienceMs: 20_000,
      open: async () => {
        const service = await startMachineService({
          deleteDelayMs: front === undefined ? deleteDelayMs : 20,
          lagMs: listLagMs,
        });
        const api = await front?.(service.endpoint);
        return {
          admin: { endpoint: api?.endpoint ?? service.endpoint, apiKey: service.apiKey },
          flavor: 'tiny',
          image: 'host',
          pageSize: service.pageSize,
          stateOf: (machine) => service.stateOf(machine),
          ...(stalls ? { stallNext: () => service.stallNext() } : {}),
          close: async () => {
            await api?.close();
            await service.close();
          },
        };
      },
      ...options,
    }),
  );
}

/** Why a case of the automators' suite fails for the template with these changes. */
export function automatorFailure(
  changes: readonly Change[],
  id: string | readonly string[],
  options: Pick<AutomatorSuiteOptions, 'accounts' | 'system' | 'open'> = {},
): Promise<string | undefined> {
  return failureOf('automator', changes, id, (folder) =>
    createAutomatorSuite({
      name: 'planted',
      folders: [folder],
      script: (script, data) => ({ script, data }),
      patienceMs: 20_000,
      ...options,
    }),
  );
}

async function failureOf(
  type: 'provider' | 'automator',
  changes: readonly Change[],
  id: string | readonly string[],
  suiteOf: (folder: string) => Suite,
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-planted-'));
  try {
    plant(folder, type, changes);
    return await caseFailure(suiteOf(folder), id);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the plugin `planted`. @throws Error for a text that the template does not have */
function plant(folder: string, type: 'provider' | 'automator', changes: readonly Change[]): void {
  const file = (ending: string): string =>
    readFileSync(join(templates, `${type}.${ending}.template`), 'utf8')
      .replaceAll('{{name}}', 'planted')
      .replaceAll('{{Class}}', 'Planted');
  const files = [file('json'), file('ts')];
  for (const [right, wrong] of changes) {
    const index = files.findIndex((text) => text.includes(right));
    if (index < 0) throw new Error(`the template has no ${right}`);
    files[index] = (files[index] ?? '').replaceAll(right, () => wrong);
  }
  const [json = '', code = ''] = files;
  writeFiles(folder, { [`${type}s/planted/planted.json`]: json, [`${type}s/planted/planted.ts`]: code });
}
