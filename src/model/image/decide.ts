import { milliseconds } from '../milliseconds.js';
import type { MachineState } from '../machine/state.js';
import { refuseBuild } from './room.js';
import { isGone, type Build, type Upload } from './build.js';
import type { BuildRequest, ImageState } from './state.js';

/** What an image's workflow does next, when it is at rest. */
export type ImageWork =
  | { readonly do: 'build' }
  | { readonly do: 'drop'; readonly build: Build }
  | { readonly do: 'clean up'; readonly machine: MachineState }
  | { readonly do: 'withdraw'; readonly build: Build }
  | { readonly do: 'upload'; readonly build: Build }
  /** `forMs` absent: until the next request. */
  | { readonly do: 'wait'; readonly forMs?: number };

/** Failed builds that are remembered, once nothing of them is left. */
const rememberedFailures = 10;

const firstPauseMs = 60_000;
const longestPauseMs = 3_600_000;

export function newestReady(builds: readonly Build[]): Build | undefined {
  return builds.find(({ state }) => state === 'ready');
}

/** `tried`: work tried since the last periodic check; it is not retried before the next. */
export function nextWork(state: ImageState, now: number, tried: readonly string[] = []): ImageWork {
  const machine = state.machines.find(({ name }) => !tried.includes(name));
  if (machine !== undefined) return { do: 'clean up', machine };
  const dropped = state.builds.find(
    (build) => isToBeDropped(build) && !tried.includes(`drop ${build.number}`),
  );
  if (dropped !== undefined) return { do: 'drop', build: dropped };
  const withdrawn = state.builds.find(
    (build) =>
      build.state === 'ready' &&
      withdrawnUploads(state, build).length > 0 &&
      !tried.includes(`withdraw ${build.number}`),
  );
  if (withdrawn !== undefined) return { do: 'withdraw', build: withdrawn };
  if (state.leaving !== undefined || state.spec === undefined) return { do: 'wait' };
  const newest = newestReady(state.builds);
  if (
    newest !== undefined &&
    !tried.includes(`upload ${newest.number}`) &&
    uploadsDue(state, newest).length > 0
  )
    return { do: 'upload', build: newest };
  const { request, paused } = state;
  if (request === undefined || paused !== undefined || refuseBuild(state) !== undefined)
    return { do: 'wait' };
  const forMs = (request.notBefore ?? 0) - now;
  return forMs > 0 ? { do: 'wait', forMs } : { do: 'build' };
}

/** Uploads of a ready build that may begin now. */
export function uploadsDue(
  { pausedUploads = {}, withdrawn = [] }: ImageState,
  { uploads }: Build,
): readonly Upload[] {
  return uploads.filter(
    ({ state, provider }) =>
      (state === 'failed' || state === 'waiting') &&
      pausedUploads[provider] === undefined &&
      !withdrawn.includes(provider),
  );
}

/** Uploads of a ready build that must be deleted, because their accounts were removed from `uploads`. */
export function withdrawnUploads({ withdrawn = [] }: ImageState, { uploads }: Build): readonly Upload[] {
  return uploads.filter(({ state, provider }) => state === 'deleting' || withdrawn.includes(provider));
}

/**
 * Accounts that a configuration takes out of `uploads`, now or before. One that a recipe
 * captures at stays: it may have the only copy.
 */
export function withdrawnAccounts(
  { spec, withdrawn = [], builds }: ImageState,
  uploads: readonly string[],
  capturedAt: string | undefined,
): readonly string[] {
  const before = new Set([...withdrawn, ...(spec?.uploads ?? []).map(({ provider }) => provider)]);
  return [...before].filter(
    (account) =>
      !uploads.includes(account) &&
      account !== capturedAt &&
      account !== spec?.recipe?.provider &&
      builds.some(
        (build) => build.state === 'building' || build.uploads.some(({ provider }) => provider === account),
      ),
  );
}

/** What came to nothing leaves nothing. */
function isToBeDropped(build: Build): boolean {
  return (
    build.state === 'deleting' ||
    ((build.state === 'failed' || build.state === 'cancelled') && !isGone(build))
  );
}

/** Its deletion is complete. */
export function isOver({ leaving, builds, machines }: ImageState): boolean {
  return (
    leaving !== undefined &&
    machines.length === 0 &&
    builds.every((build) => build.state !== 'building' && isGone(build))
  );
}

/** A build request because of the image's age; undefined if none is due. */
export function requestOfAge(
  { spec, builds, request, leaving }: ImageState,
  now: number,
): BuildRequest | undefined {
  if (request !== undefined || leaving !== undefined || spec?.rebuildAge === undefined) return undefined;
  const newest = newestReady(builds);
  const isOld =
    newest?.endedAt !== undefined && now - Date.parse(newest.endedAt) >= milliseconds(spec.rebuildAge);
  return newest === undefined || isOld
    ? { by: newest === undefined ? 'there is none' : 'its age', at: new Date(now).toISOString(), failed: 0 }
    : undefined;
}

/** A request stays until a build has succeeded; the pause doubles. */
export function afterFailure(request: BuildRequest, now: number): BuildRequest {
  return {
    ...request,
    failed: request.failed + 1,
    notBefore: now + Math.min(firstPauseMs * 2 ** request.failed, longestPauseMs),
  };
}

/**
 * Marks ready builds beyond `keep` for deletion, and forgets all but the last failed ones. An account
 * with paused uploads keeps its newest image: it gets no newer one until uploads are resumed.
 */
export function rotate(
  builds: readonly Build[],
  keep: number,
  pausedUploads: ImageState['pausedUploads'] = {},
): readonly Build[] {
  const ready = builds.filter(({ state }) => state === 'ready');
  const kept = Object.keys(pausedUploads).map((account) => ready.find((build) => isAt(build, account)));
  const old = new Set(
    ready
      .slice(keep)
      .filter((build) => !kept.includes(build))
      .map(({ number }) => number),
  );
  const over = builds
    .filter(({ state }) => state === 'failed' || state === 'cancelled')
    .map(({ number }) => number)
    .slice(rememberedFailures);
  return builds
    .filter(({ number }) => !over.includes(number))
    .map((build): Build =>
      old.has(build.number) ? { ...build, state: 'deleting', why: `only ${keep} are kept` } : build,
    );
}

function isAt({ uploads }: Build, account: string): boolean {
  return uploads.some(({ provider, state }) => provider === account && state === 'ready');
}

/** Why a build cannot be rolled back now; undefined if it can. */
export function rollbackRefusal(state: ImageState): string | undefined {
  const ready = state.builds.filter((build) => build.state === 'ready');
  if (ready.length === 0) return `image ${state.name} has no ready build that could be rolled back`;
  return ready.length === 1
    ? `image ${state.name} has no build before ${ready[0]?.number}; run 'heddle image delete ${state.name}' to delete the whole image`
    : undefined;
}
