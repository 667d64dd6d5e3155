import type { Build } from './build.js';
import { newestReady, nextWork } from './decide.js';
import { refuseBuild } from './room.js';
import { describeSource } from './spec.js';
import type { BuildRequest, ImageState } from './state.js';

/** The public view of an image: no fields of recipes, which may hold anything. */
export interface ImageView {
  readonly name: string;
  readonly uid: string;
  readonly source?: string;
  readonly keep?: number;
  /** In seconds. */
  readonly rebuildAge?: number;
  /** The revision that is offered. */
  readonly newest?: number;
  readonly builds: readonly Build[];
  readonly paused?: ImageState['paused'];
  /** Provider accounts to which uploads are paused. */
  readonly pausedUploads?: ImageState['pausedUploads'];
  readonly request?: BuildRequest;
  readonly leaving?: ImageState['leaving'];
  readonly exported?: ImageState['exported'];
  readonly restored?: ImageState['restored'];
  /** Machines of builds that are not known to be gone, by their names. */
  readonly machines: readonly string[];
  /** Pools that create nodes from it. */
  readonly pools?: readonly string[];
  /** For people. */
  readonly doing: string;
}

export function viewOfImage(state: ImageState, now: number): ImageView {
  const { name, uid, spec, builds, paused, request, leaving, exported, restored, machines } = state;
  const newest = newestReady(builds)?.number;
  const pools = Object.keys(state.published?.watchers ?? {}).map((workflowId) =>
    workflowId.replace(/^pool\//, ''),
  );
  return {
    name,
    uid,
    builds,
    machines: machines.map((machine) => machine.name),
    doing: doingWords(state, now),
    ...(spec === undefined
      ? {}
      : { source: describeSource(spec), keep: spec.keep, rebuildAge: spec.rebuildAge }),
    newest,
    paused,
    ...(Object.keys(state.pausedUploads ?? {}).length === 0 ? {} : { pausedUploads: state.pausedUploads }),
    request,
    leaving,
    exported,
    restored,
    ...(pools.length === 0 ? {} : { pools }),
  };
}

function doingWords(state: ImageState, now: number): string {
  const building = state.builds.find((build) => build.state === 'building');
  if (building !== undefined) return `builds ${building.number}: ${building.step ?? 'begins'}`;
  if (state.leaving !== undefined) return 'is being deleted';
  if (state.exported !== undefined) return 'is exported';
  const next = nextWork(state, now);
  switch (next.do) {
    case 'wait':
      return state.request === undefined
        ? 'nothing'
        : state.paused === undefined
          ? (refuseBuild(state) ?? 'waits before the next build')
          : 'paused; a build is requested';
    case 'clean up':
      return `takes back ${next.machine.name}`;
    default:
      return next.do;
  }
}
