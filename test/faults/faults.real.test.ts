import { env } from 'node:process';
import { afterAll, beforeAll, describe, inject, vi } from 'vitest';
import type { Limits } from '../../src/model/cluster/limits.js';
import { type RunningServer, startServer } from '../../src/server/start.js';
import { openHarness, type Harness } from '../harness/faults/harness.js';
import { playFaults, playsInTenth, usualModes, type SweepCut } from '../harness/faults/table.js';
import { playWebUi } from '../harness/faults/web-ui.js';
import { newFolder } from '../harness/folder.js';

/**
 * The whole tables take 15 minutes on two cores: `npm run faults` runs them. `npm test` runs a fixed
 * part of the first, and `npm run test:real` a random tenth of each, which HEDDLE_FAULTS repeats.
 */
const { HEDDLE_FAULTS: seed = '1' } = env;
const isWhole = seed === 'all';
const isInTenth = playsInTenth(seed);

const table = (title: string, play: (plays: NonNullable<SweepCut['plays']>) => void): void => {
  describe(isWhole ? title : `a tenth of ${title} (HEDDLE_FAULTS=${seed})`, () =>
    play((...place) => isWhole || isInTenth(...place)),
  );
};

vi.setConfig({ maxConcurrency: 16 });

table('the table of faults', (plays) => {
  const harness = openAround({});
  playFaults(harness, { modes: usualModes, plays });
  playWebUi(harness, { every: isWhole ? 1 : 10 });
});

table('the faults where every workflow task replays the whole history', (plays) => {
  const harness = openAround({ cachedWorkflows: 0 });
  playFaults(harness, {
    modes: ['loses its answer', 'is cancelled'],
    plays: (operation, mode, task) => operation.tasks.indexOf(task) % 3 === 0 && plays(operation, mode, task),
  });
});

/** `db` is carried by the cluster's workflow, `web` by a group's. */
const groups: Partial<Limits> = { inlineNodes: 1, groupNodes: 2 };

table('the faults on a server that suggests continue-as-new after 50 events', (plays) => {
  const server = openServer();
  const harness = openAround({ server });
  playFaults(harness, { modes: ['ends its run'], plays });
});

table('the faults with groups, on a server that suggests continue-as-new after 50 events', (plays) => {
  const server = openServer();
  const harness = openAround({ server, limits: groups });
  playFaults(harness, {
    modes: ['ends its run', 'fails for good', 'is cancelled', 'is met by delete'],
    plays: (operation, mode, task) =>
      (operation.tasks.length < 6 || operation.tasks.indexOf(task) % 2 === 1) && plays(operation, mode, task),
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
    folder = newFolder();
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
  afterAll(() => server?.stop());
  return () => {
    if (server === undefined) throw new Error('the server is not started yet');
    return server;
  };
}
