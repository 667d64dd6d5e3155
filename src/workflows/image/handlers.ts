import {
  imageContract,
  type BuildReply,
  type ConfigureImageReply,
  type ConfigureImageRequest,
} from '../../model/image/contract.js';
import { maxSpecBytes, refuseGrowth } from '../../model/carried.js';
import { recipeGroup, sourceOf } from '../../model/image/spec.js';
import type { ImageState } from '../../model/image/state.js';
import { exportedText, type RecordsReply } from '../../model/move.js';
import { ActivityFailure, ApplicationFailure, uuid4 } from '@temporalio/workflow';
import type { Build, Upload } from '../../model/image/build.js';
import { requestOfAge, newestReady, rollbackRefusal, withdrawnAccounts } from '../../model/image/decide.js';
import { refuseImageExport } from '../../model/image/export.js';
import { withAccountOf } from '../../model/image/node.js';
import { viewOfImage } from '../../model/image/view.js';
import type { Json } from '../../model/json.js';
import { stableJson } from '../../model/node/payload.js';
import { digestsIn } from '../../model/artifact/used.js';
import { readMachineKey, uploadId } from '../../model/names.js';
import type { NamedMachine, Ownership } from '../../model/node/ownership.js';
import { ownershipInMachines } from '../machine/ownership.js';
import { change, now, refuse, refusing, showOrigins, type Message, handlersOf } from '../entity.js';
import { schedule } from '../schedule.js';
import { changeBuild, type ImageMemory } from './memory.js';
import { refuseBuild } from '../../model/image/room.js';
import { sealedAt } from '../taken-messages.js';
import { planRecipe } from './plan-recipe.js';
import { addWatcher } from './publish.js';
import { pauseOfUploads } from './uploads.js';

/** The messages of an image. Handlers change the state; the step function does the work. */
export function messagesOf(memory: ImageMemory): readonly Message[] {
  const ownerships = (machines: readonly NamedMachine[]): readonly Ownership[] =>
    machines.map((named) => ownershipIn(memory, named));
  /** An exported image refuses what would change its records. */
  const unlessExported = refusing(() => exportedText('image', memory.state));
  return handlersOf(imageContract, {
    updates: {
      configure: [
        (request) => configure(memory, request),
        unlessExported(
          ({ spec }) =>
            leavingText(memory) ??
            refuseGrowth(
              `the description of image ${memory.state.name}`,
              { state: {}, added: spec, most: maxSpecBytes },
              "put large files into resources ('heddle resource put') and name those",
            ),
        ),
      ],
      build: [
        ({ by }) => askForBuild(memory, by),
        unlessExported(() => leavingText(memory) ?? unknownText(memory) ?? refuseBuild(memory.state)),
      ],
      cancel: [
        (_request) => {
          const at = sealedAt();
          if (at !== undefined) confirmAbsence(memory, at);
          return cancelBuild(memory);
        },
        unlessExported(() =>
          isIdle(memory) && memory.state.machines.length === 0
            ? `image ${memory.state.name} is not being built, and no build was requested`
            : undefined,
        ),
      ],
      rollback: [
        ({ by }) => rollBack(memory, by),
        unlessExported(() => leavingText(memory) ?? rollbackRefusal(memory.state)),
      ],
      upload: [
        (_request) => askForUploads(memory),
        unlessExported(
          () =>
            leavingText(memory) ??
            (newestReady(memory.state.builds) === undefined
              ? `image ${memory.state.name} has no ready build; nothing can be uploaded`
              : undefined),
        ),
      ],
      pause: [
        ({ by, provider }) => pause(memory, by, provider),
        unlessExported(({ provider }) => leavingText(memory) ?? unknownAccountText(memory, provider)),
      ],
      resume: [
        ({ provider }) => resume(memory, provider),
        unlessExported(({ provider }) =>
          provider === undefined || pauseOfUploads(memory, provider) !== undefined
            ? undefined
            : `uploads of image ${memory.state.name} to ${provider} are not paused`,
        ),
      ],
      delete: [
        ({ by, build }) => remove(memory, by, build),
        unlessExported(({ build }) =>
          build === undefined || memory.state.builds.some(({ number }) => number === build)
            ? undefined
            : `image ${memory.state.name} has no build ${build}; run 'heddle image show ${memory.state.name}' to see its builds`,
        ),
      ],
      export: [
        ({ by, cancel }) => {
          const { exported, ...state } = memory.state;
          memory.state =
            cancel === true ? state : { ...state, exported: exported ?? { id: uuid4(), by, at: Date.now() } };
          showOrigins(memory.state);
        },
        ({ cancel }) => (cancel === true ? undefined : refuseImageExport(memory.state)),
      ],
      disown: ownerships,
    },
    signals: {
      check: () => recheck(memory),
      watch: ({ workflowId }) => {
        if (workflowId.startsWith('pool/')) addWatcher(memory, workflowId);
      },
    },
    queries: {
      image: () => viewOfImage(memory.state, Date.now()),
      records: () => recordsOf(memory),
      spec: () => memory.state.spec ?? null,
      usedResources: () => digestsIn(memory.state.spec ?? {}),
      leased: (lease) => memory.state.lease?.id === lease,
      owners: ownerships,
    },
  });
}

/**
 * A machine of a build, or the image at a provider: a build notes an upload before it is sent, and forgets it
 * when it is deleted.
 */
function ownershipIn(
  { state: { uid, name, builds, machines, numbers } }: ImageMemory,
  named: NamedMachine,
): Ownership {
  const { clusterUid, nodeId } = readMachineKey(named.key) ?? {};
  if (clusterUid === uid && Number(nodeId?.slice(name.length + 1)) > numbers) return { is: 'unmade' };
  const build =
    clusterUid === uid ? builds.find(({ number }) => nodeId === uploadId(name, number)) : undefined;
  return build !== undefined && build.uploads.length > 0
    ? { is: 'mine' }
    : ownershipInMachines(machines, named);
}

/** They no longer change once the work in progress has ended. */
function recordsOf({ state, working }: ImageMemory): RecordsReply<ImageState> | null {
  // Pools subscribe again where it is restored.
  const { published: _published, ...carried } = state;
  const { exported } = state;
  if (exported === undefined) return null;
  return working === undefined ? { records: { version: 1, exported, carried } } : { awaits: [working] };
}

/** What was tried in vain may be tried again, and age may ask for a build. */
function recheck(memory: ImageMemory): void {
  if (memory.state.exported !== undefined) return;
  memory.tried = [];
  const request = requestOfAge(memory.state, Date.now());
  change(memory, request === undefined ? {} : { request });
}

/**
 * A worker validates the spec, since it knows plugins and provider accounts. The spec is applied whole or not
 * at all.
 */
async function configure(
  memory: ImageMemory,
  { spec: written }: ConfigureImageRequest,
): Promise<ConfigureImageReply> {
  const { name, uid } = memory.state;
  try {
    const { spec, placement } = await schedule('CHECK_IMAGE', { name, spec: written });
    const whole = withAccountOf(spec, placement);
    const source = sourceOf(whole);
    if (source.kind === 'recipe') await planRecipe(memory, source.cluster);
    // It may have been exported while its configuration was checked.
    refuse(exportedText('image', memory.state));
    const unchanged = stableJson((memory.state.spec ?? null) as Json) === stableJson(spec as unknown as Json);
    const withdrawn = withdrawnAccounts(
      memory.state,
      spec.uploads.map(({ provider }) => provider),
      source.kind === 'recipe' ? source.cluster.nodes[recipeGroup]?.provider : undefined,
    );
    change(memory, { spec, withdrawn });
    recheck(memory);
    return { unchanged, uid, withdrawn };
  } catch (error) {
    // Any other error of a handler would fail the workflow task again and again.
    if (error instanceof ActivityFailure)
      throw ApplicationFailure.nonRetryable(error.cause?.message ?? error.message, 'Invalid');
    throw error;
  }
}

/** Who asks while a build is under way may want what has changed since it began: that one is done first. */
function askForBuild(memory: ImageMemory, by: string): BuildReply {
  const { request, numbers, builds } = memory.state;
  const { notBefore: _soon, ...pending } = request ?? { by, at: now(), failed: 0 };
  change(memory, { request: pending });
  return { build: builds.some(({ state }) => state === 'building') ? numbers : numbers + 1 };
}

/** Uploads under way go on. */
function pause(memory: ImageMemory, by: string, provider: string | undefined): void {
  const { pausedUploads } = memory.state;
  change(
    memory,
    provider === undefined
      ? { paused: { by, at: now(), why: 'it was paused by request' } }
      : { pausedUploads: { ...pausedUploads, [provider]: { by, at: now() } } },
  );
}

function resume(memory: ImageMemory, provider: string | undefined): void {
  if (provider === undefined) change(memory, { paused: undefined });
  else {
    const { [provider]: _resumed, ...pausedUploads } = memory.state.pausedUploads ?? {};
    change(memory, { pausedUploads });
  }
  recheck(memory);
}

/** Uploads that wait are not mistaken for those that failed again. */
function askForUploads(memory: ImageMemory): BuildReply {
  const newest = newestReady(memory.state.builds);
  if (newest === undefined) throw new Error('there is nothing to upload');
  recheck(memory);
  changeBuild(memory, newest.number, {
    uploads: newest.uploads.map((upload): Upload => {
      const { why: _why, ...rest } = upload;
      return upload.state === 'failed'
        ? { ...rest, state: 'waiting', why: pauseOfUploads(memory, upload.provider) }
        : upload;
    }),
  });
  return { build: newest.number };
}

/**
 * Of machines that could not be deleted: their failures asked to look for those that the
 * provider may be unable to find.
 */
function confirmAbsence(memory: ImageMemory, absenceConfirmedAt: number): void {
  const { machines } = memory.state;
  const asked = machines.filter(({ name }) => memory.tried.includes(name)).map(({ name }) => name);
  if (asked.length === 0) return;
  change(memory, {
    absenceConfirmedAt,
    machines: machines.map((machine) =>
      asked.includes(machine.name) ? { ...machine, absenceConfirmedAt } : machine,
    ),
  });
  memory.tried = memory.tried.filter((name) => !asked.includes(name));
}

function cancelBuild(memory: ImageMemory): BuildReply {
  change(memory, { request: undefined });
  if (memory.scope !== undefined) {
    memory.cancelled = true;
    memory.scope.cancel();
  }
  return { build: memory.state.numbers };
}

/** Paused with it: the same recipe would only make the same again. */
function rollBack(memory: ImageMemory, by: string): BuildReply {
  const newest = newestReady(memory.state.builds);
  if (newest === undefined) throw new Error('there is nothing to roll back');
  const why = `build ${newest.number} was rolled back`;
  change(memory, {
    builds: leave(memory, newest.number, `rolled back by ${by}`),
    paused: memory.state.paused ?? { by, at: now(), why },
  });
  return { build: newest.number };
}

function remove(memory: ImageMemory, by: string, build: number | undefined): void {
  memory.tried = [];
  if (build !== undefined) {
    if (memory.state.builds.some(({ number, state }) => number === build && state === 'building'))
      cancelBuild(memory);
    else change(memory, { builds: leave(memory, build, `deleted by ${by}`) });
    return;
  }
  cancelBuild(memory);
  const builds = memory.state.builds.map((one): Build =>
    one.state === 'building' ? one : { ...one, state: 'deleting', why: `deleted by ${by}` },
  );
  change(memory, { leaving: { by, at: now() }, builds });
}

function leave(memory: ImageMemory, number: number, why: string): readonly Build[] {
  return memory.state.builds.map((build): Build =>
    build.number === number ? { ...build, state: 'deleting', why } : build,
  );
}

function isIdle({ state, scope }: ImageMemory): boolean {
  return scope === undefined && state.request === undefined;
}

function leavingText({ state: { name, leaving } }: ImageMemory): string | undefined {
  return leaving === undefined ? undefined : `image ${name} is being deleted since ${leaving.at}`;
}

function unknownText({ state: { name, spec } }: ImageMemory): string | undefined {
  return spec === undefined ? `image ${name} has no recipe yet; apply one first` : undefined;
}

/** Why uploads to an account cannot be paused; undefined for an account that the image is uploaded to. */
function unknownAccountText(
  { state: { name, spec, builds } }: ImageMemory,
  provider: string | undefined,
): string | undefined {
  const uploads = [...(spec?.uploads ?? []), ...builds.flatMap((build) => build.uploads)];
  const known = [...new Set(uploads.map((upload) => upload.provider))];
  if (provider === undefined || known.includes(provider)) return undefined;
  const accounts = known.length === 0 ? 'it has no uploads' : `it is uploaded to ${known.join(', ')}`;
  return `image ${name} is not uploaded to ${provider}; ${accounts}`;
}
