import type { ImageView } from '../../schema/output/image.js';
import { newestReady, nextWork } from './decide.js';
import { refuseBuild } from './room.js';
import { describeSource } from './spec.js';
import type { ImageState } from './state.js';

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
      return `cleans up ${next.machine.name}`;
    default:
      return next.do;
  }
}
