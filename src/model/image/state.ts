import type { MachineState } from '../machine/state.js';
import type { Build } from './build.js';
import { nextWork, newestReady } from './decide.js';
import type { Loan } from './node.js';
import type { Offers } from './notification.js';
import { describeSource, type ImageSpec } from './spec.js';

/** An image and its builds, for as long as somebody wants it. */
export interface ImageState {
  readonly stateVersion: 1;
  readonly name: string;
  readonly uid: string;
  readonly spec?: ImageSpec;
  /** Newest first. */
  readonly builds: readonly Build[];
  /** Number of the last build. */
  readonly numbers: number;
  /** Nothing is built until it is resumed. */
  readonly paused?: { readonly by: string; readonly at: string; readonly why: string };
  /** A build is wanted; it stays until one has succeeded. */
  readonly request?: BuildRequest;
  /** Everything is to go. */
  readonly leaving?: { readonly by: string; readonly at: string };
  /** Machines of builds that are not known to be gone. */
  readonly machines: readonly MachineState[];
  /** The node of a cluster or a pool that a build works on. */
  readonly loan?: Loan;
  /** What was told last of the versions that are offered. */
  readonly told?: Told;
}

export interface Told {
  readonly version: number;
  readonly offers: Offers;
  readonly gone?: true;
  /** Workflows that want to know, and the last version that each was told. */
  readonly watchers: Readonly<Record<string, number>>;
}

export interface BuildRequest {
  readonly by: string;
  readonly at: string;
  /** Builds that it has begun, and that came to nothing. */
  readonly failed: number;
  /** Not before this, in ms since the epoch. */
  readonly notBefore?: number;
}

/** What everybody may see of an image: no fields of recipes, which may hold anything. */
export interface ImageView {
  readonly name: string;
  readonly uid: string;
  readonly source?: string;
  readonly keep?: number;
  readonly rebuildAgeMs?: number;
  /** The revision that is offered. */
  readonly newest?: number;
  readonly builds: readonly Build[];
  readonly paused?: ImageState['paused'];
  readonly request?: BuildRequest;
  readonly leaving?: ImageState['leaving'];
  /** Machines of builds that are not known to be gone, by their names. */
  readonly machines: readonly string[];
  /** Pools that make nodes from it. */
  readonly pools?: readonly string[];
  /** For people. */
  readonly doing: string;
}

export function viewOfImage(state: ImageState, now: number): ImageView {
  const { name, uid, spec, builds, paused, request, leaving, machines } = state;
  const newest = newestReady(builds)?.number;
  const pools = Object.keys(state.told?.watchers ?? {}).map((workflowId) =>
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
      : { source: describeSource(spec.source), keep: spec.keep, rebuildAgeMs: spec.rebuildAgeMs }),
    newest,
    paused,
    request,
    leaving,
    ...(pools.length === 0 ? {} : { pools }),
  };
}

function doingWords(state: ImageState, now: number): string {
  const building = state.builds.find((build) => build.state === 'building');
  if (building !== undefined) return `builds ${building.number}: ${building.step ?? 'begins'}`;
  if (state.leaving !== undefined) return 'is being deleted';
  const next = nextWork(state, now);
  switch (next.do) {
    case 'wait':
      return state.request === undefined
        ? 'nothing'
        : state.paused === undefined
          ? 'waits before it builds again'
          : 'paused; a build is asked for';
    case 'clean up':
      return `takes back ${next.machine.name}`;
    default:
      return next.do;
  }
}
