import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { countClusters, countStuck, createCountHeld } from '../client/cluster-counts.js';
import { HeddleError } from '../client/errors.js';
import { readLeaks, type LeaksView } from '../client/leaks.js';
import type { Config } from '../config/index.js';
import { ownBuild, readVersion } from './identity.js';
import type { MetricName, Point } from './metric-table.js';
import { publish as publishPoints } from './publish-metrics.js';

/** Interval of observations, in ms. */
const observeMs = 30_000;

/** Observes for a worker that serves metrics. @returns a function that ends it. */
export function observeInstallation(
  { metrics, site, dataFolder, cacheFolder, store, builder }: Config,
  temporal: Client | undefined,
  log: Pick<Logger, 'warn'>,
): () => void {
  if (metrics === undefined) return () => undefined;
  const tags = { version: readVersion(), build: ownBuild(), site };
  publishPoints([{ name: 'heddle_build_info', tags, value: 1 }]);
  const folders = {
    data: dataFolder,
    cache: cacheFolder,
    store: store.folder,
    ...(temporal === undefined ? { builder: builder.folder } : {}),
  };
  return observe({ temporal, folders, log }, publishPoints);
}

export interface Observed {
  /** Absent: the worker reads nothing from the server, as a builder does. */
  readonly temporal?: Client;
  /** Folders whose disks are measured, by the names in the metrics. */
  readonly folders: Readonly<Record<string, string>>;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * What is read and published together, on its own: one that takes long, or fails, leaves the others alone.
 */
interface Part {
  readonly of: string;
  readonly read: () => Promise<readonly Point[]>;
}

/**
 * Publishes, until stopped, what no single event tells: clusters by phase, stuck workflows, the
 * last sweep and the disk. Any worker reads the same from the server, so the figures outlive
 * each of them. @returns a function that ends it.
 */
export function observe(
  { temporal, folders, log }: Observed,
  publish: (points: readonly Point[]) => void,
  everyMs = observeMs,
): () => void {
  const serverParts = temporal === undefined ? [] : partsOf(temporal);
  publish(serverParts.map(({ of }) => observedPoint(of, 0)));
  let isStopped = false;
  const observers = [{ of: 'disks', read: () => diskPoints(folders) }, ...serverParts].map(({ of, read }) => {
    const published = new Map<string, Point>();
    let isBusy = false;
    let hasFailed = false;
    return async (): Promise<void> => {
      if (isBusy) return;
      isBusy = true;
      try {
        publish(withZeros(published, await read()));
        hasFailed = false;
      } catch (error) {
        // It keeps its values; the time of its last success shows how old they are. Each
        // failure in a row has the same reason.
        if (!hasFailed && !isStopped) log.warn({ error }, `the metrics of ${of} are not up to date`);
        hasFailed = true;
      } finally {
        isBusy = false;
      }
    };
  });
  const observeAll = (): void => {
    for (const observePart of observers) void observePart();
  };
  observeAll();
  const timer = setInterval(observeAll, everyMs);
  timer.unref();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}

/**
 * Adds a zero for each value that the part published before and that is gone: a gauge keeps its last value.
 */
function withZeros(published: Map<string, Point>, points: readonly Point[]): readonly Point[] {
  const keyOf = ({ name, tags }: Point): string => JSON.stringify([name, tags]);
  const keys = new Set(points.map(keyOf));
  const gone = [...published].flatMap(([key, point]) => (keys.has(key) ? [] : [{ ...point, value: 0 }]));
  for (const point of points) published.set(keyOf(point), point);
  return [...points, ...gone];
}

function partsOf(temporal: Client): readonly Part[] {
  const countHeld = createCountHeld();
  const part = (of: string, read: Part['read']): Part => ({
    of,
    read: async () => [...(await read()), observedPoint(of, Math.round(Date.now() / 1_000))],
  });
  return [
    part('clusters', async () => pointsBy('heddle_clusters', 'phase', await countClusters(temporal))),
    part('held', async () => causePoints('heddle_clusters_held', await countHeld(temporal))),
    part('workflows', async () => causePoints('heddle_workflows_stuck', await countStuck(temporal))),
    part('sweep', async () => sweepPoints(await readSweep(temporal))),
  ];
}

function observedPoint(of: string, value: number): Point {
  return { name: 'heddle_observation_timestamp_seconds', tags: { of }, value };
}

function pointsBy(
  name: MetricName,
  label: string,
  counts: Readonly<Record<string, number>>,
): readonly Point[] {
  return Object.entries(counts).map(([word, value]) => ({ name, tags: { [label]: word }, value }));
}

/** With a value while there is none, so that an alert can tell "none" from "not measured". */
function causePoints(name: MetricName, counts: Readonly<Record<string, number>>): readonly Point[] {
  return pointsBy(name, 'cause', Object.keys(counts).length === 0 ? { none: 0 } : counts);
}

/** Undefined before the first worker creates the schedule. */
async function readSweep(temporal: Client): Promise<LeaksView | undefined> {
  return readLeaks(temporal).catch((error: unknown) => {
    if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
    throw error;
  });
}

export function sweepPoints(view: LeaksView | undefined): readonly Point[] {
  const { report, schedule } = view ?? {};
  const gone = (report?.deleted ?? []).filter(({ failed }) => failed === undefined);
  return [
    {
      name: 'heddle_sweep_last_pass_timestamp_seconds',
      tags: {},
      value: report === undefined ? 0 : Math.round(Date.parse(report.at) / 1_000),
    },
    { name: 'heddle_sweep_interval_seconds', tags: {}, value: (schedule?.everyMs ?? 0) / 1_000 },
    { name: 'heddle_sweep_paused', tags: {}, value: schedule?.paused === undefined ? 0 : 1 },
    { name: 'heddle_sweep_refusals', tags: {}, value: report?.refused.length ?? 0 },
    ...(report?.accounts ?? []).map(({ name: account, leaks }): Point => ({
      name: 'heddle_orphaned_machines',
      tags: { account },
      value: Math.max(0, leaks - gone.filter((machine) => machine.account === account).length),
    })),
  ];
}

async function diskPoints(folders: Observed['folders']): Promise<readonly Point[]> {
  const points = await Promise.all(
    Object.entries(folders).map(async ([folder, path]): Promise<readonly Point[]> => {
      if (!existsSync(path)) return [];
      const { bavail, blocks, bsize } = await statfs(path);
      return [
        { name: 'heddle_disk_free_bytes', tags: { folder }, value: bavail * bsize },
        { name: 'heddle_disk_size_bytes', tags: { folder }, value: blocks * bsize },
      ];
    }),
  );
  return points.flat();
}
