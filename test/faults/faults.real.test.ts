import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, inject, vi } from 'vitest';
import type { Limits } from '../../src/model/cluster/limits.js';
import { type RunningServer, startServer } from '../../src/server/start.js';
import { openHarness, type Harness } from '../harness/faults/harness.js';
import { playFaults, usualModes } from '../harness/faults/table.js';
import { playWebUi } from '../harness/faults/web-ui.js';

/**
 * The whole tables take long on two cores: HEDDLE_FAULTS=all asks for them. `npm test` runs a part of them.
 */
const wholeTable = (title: string, tests: () => void): void => {
  if (env['HEDDLE_FAULTS'] !== undefined) describe(title, tests);
};

vi.setConfig({ maxConcurrency: 16 });

wholeTable('the table of faults', () => {
  const harness = openAround({});
  playFaults(harness, { modes: usualModes });
  playWebUi(harness, { every: 1 });
});

wholeTable('the faults where every workflow task replays the whole history', () => {
  const harness = openAround({ cachedWorkflows: 0 });
  playFaults(harness, {
    modes: ['loses its answer', 'is cancelled'],
    plays: ({ tasks }, _mode, task) => tasks.indexOf(task) % 3 === 0,
  });
});

/** `db` is carried by the cluster's workflow, `web` by a group's. */
const groups: Partial<Limits> = { inlineNodes: 1, groupNodes: 2 };

wholeTable('the faults on a server that suggests continue-as-new after 50 events', () => {
  const server = openServer();
  const harness = openAround({ server });
  playFaults(harness, { modes: ['ends its run'] });
});

wholeTable('the faults with groups, on a server that suggests continue-as-new after 50 events', () => {
  const server = openServer();
  const harness = openAround({ server, limits: groups });
  playFaults(harness, {
    modes: ['ends its run', 'fails for good', 'is cancelled', 'is met by delete'],
    plays: ({ tasks }, _mode, task) => tasks.length < 6 || tasks.indexOf(task) % 2 === 1,
  });
});

describe('a group that waits for its tasks before it begins a new run', () => {
  const server = openServer();
  const harness = openAround({ server, limits: groups });
  playFaults(harness, {
    modes: ['is cancelled', 'is met by delete'],
    plays: ({ name }, _mode, task) => name === 'scale-up' && task === 'web-2 web INSTALL',
  });
});

interface Around {
  readonly server?: () => RunningServer;
  readonly limits?: Partial<Limits>;
  readonly cachedWorkflows?: number;
}

/** A harness for the tests of one `describe`. */
function openAround({ server, ...options }: Around): () => Harness {
  let harness: Harness | undefined;
  beforeAll(async () => {
    harness = await openHarness({
      temporalAddress: server?.().address ?? inject('temporalAddress'),
      workflowBundlePath: inject('workflowBundlePath'),
      ...options,
    });
  });
  afterAll(async () => {
    await harness?.stop();
  });
  return () => {
    if (harness === undefined) throw new Error('the harness is not open yet');
    return harness;
  };
}

function openServer(): () => RunningServer {
  let folder = '';
  let server: RunningServer | undefined;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'heddle-faults-server-'));
    server = await startServer({
      binary: inject('temporalBinary'),
      dataFolder: folder,
      port: 0,
      ui: false,
      searchAttributes: [],
      say: () => undefined,
      dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 50 },
    });
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return () => {
    if (server === undefined) throw new Error('the server is not started yet');
    return server;
  };
}
