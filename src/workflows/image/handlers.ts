import { ActivityFailure, ApplicationFailure, setHandler } from '@temporalio/workflow';
import type { Build } from '../../model/image/build.js';
import { requestOfAge, newestReady, rollbackRefusal } from '../../model/image/decide.js';
import type { BuildReply, ConfigureImageReply, ConfigureImageRequest } from '../../model/image/messages.js';
import { withAccountOf } from '../../model/image/node.js';
import { viewOfImage } from '../../model/image/state.js';
import type { Json } from '../../model/json.js';
import { stableJson } from '../../model/payload.js';
import { digestsIn } from '../../model/resource/used.js';
import { readMachineKey, uploadId } from '../../model/names.js';
import type { NamedMachine, Ownership } from '../../model/ownership.js';
import { ownershipOf } from '../machine/ownership.js';
import { borrowedQuery, disownUpdate, ownersQuery, roundSignal, usedResourcesQuery } from '../messages.js';
import { noCheck } from '../no-check.js';
import { runCheckImage } from '../run-task.js';
import { change, now, type ImageMemory } from './memory.js';
import {
  buildImageUpdate,
  cancelBuildUpdate,
  configureImageUpdate,
  deleteImageUpdate,
  imageQuery,
  imageSpecQuery,
  pauseImageUpdate,
  resumeImageUpdate,
  rollbackImageUpdate,
  watchImageSignal,
} from './messages.js';
import { planRecipe } from './plan-recipe.js';
import { addWatcher } from './tell.js';

/** All that an image answers. Handlers change state; the main loop does the work. */
export function handleMessages(memory: ImageMemory): void {
  setHandler(configureImageUpdate, (request) => configure(memory, request), {
    validator: (_request) => refuse(leavingText(memory)),
    description: 'Bring the image to a description of how it is made.',
  });
  setHandler(buildImageUpdate, ({ by }) => askForBuild(memory, by), {
    validator: (_request) => refuse(leavingText(memory) ?? unknownText(memory)),
    description: 'Build it; the request stays until a build succeeds.',
  });
  setHandler(cancelBuildUpdate, () => cancelBuild(memory), {
    validator: (_request) =>
      refuse(
        isIdle(memory) ? `image ${memory.state.name} is not being built, and nobody asked for it` : undefined,
      ),
    description: 'End the build under way, and the request for it.',
  });
  setHandler(rollbackImageUpdate, ({ by }) => rollBack(memory, by), {
    validator: (_request) => refuse(leavingText(memory) ?? rollbackRefusal(memory.state)),
    description: 'Delete the newest build, so that the one before it is offered.',
  });
  setHandler(
    pauseImageUpdate,
    ({ by }) => change(memory, { paused: { by, at: now(), why: 'somebody paused it' } }),
    {
      validator: (_request) => refuse(leavingText(memory)),
      description: 'Build nothing until it is resumed.',
    },
  );
  setHandler(
    resumeImageUpdate,
    () => {
      const { paused: _paused, ...state } = memory.state;
      memory.state = state;
      lookAround(memory);
    },
    { validator: noCheck, description: 'Build again.' },
  );
  setHandler(deleteImageUpdate, ({ by, build }) => remove(memory, by, build), {
    validator: ({ build }) =>
      refuse(
        build === undefined || memory.state.builds.some(({ number }) => number === build)
          ? undefined
          : `image ${memory.state.name} has no build ${build}; 'heddle image show ${memory.state.name}' shows those it has`,
      ),
    description: 'Delete one build, or all of them and the image.',
  });
  setHandler(roundSignal, () => lookAround(memory), {
    description: 'Is it too old, is there anything to be tried again?',
  });
  setHandler(
    watchImageSignal,
    ({ workflowId }) => {
      if (workflowId.startsWith('pool/')) addWatcher(memory, workflowId);
    },
    { description: 'Tell a pool which versions are offered, now and whenever that changes.' },
  );
  setHandler(imageQuery, () => viewOfImage(memory.state, Date.now()), {
    description: 'Its builds, where they are, and what is done.',
  });
  setHandler(imageSpecQuery, () => memory.state.spec ?? null, { description: 'How it is made.' });
  setHandler(usedResourcesQuery, () => digestsIn(memory.state.spec ?? {}), {
    description: 'Digests of the resources that its recipe uses.',
  });
  setHandler(borrowedQuery, (loan) => memory.state.loan?.id === loan, {
    description: 'Is it still working on what was lent to it?',
  });
  setHandler(ownersQuery, (machines) => machines.map((named) => ownershipIn(memory, named)), {
    description: 'Whose machines are these?',
  });
  setHandler(disownUpdate, (machines) => machines.map((named) => ownershipIn(memory, named)), {
    validator: noCheck,
    description: 'Say whose machines these are.',
  });
}

/**
 * A machine of a build, or the image at a provider: a build notes an upload before it is sent, and forgets it
 * when it is deleted.
 */
function ownershipIn(
  { state: { uid, name, builds, machines } }: ImageMemory,
  named: NamedMachine,
): Ownership {
  const { clusterUid, nodeId } = readMachineKey(named.key) ?? {};
  const build =
    clusterUid === uid ? builds.find(({ number }) => nodeId === uploadId(name, number)) : undefined;
  return build !== undefined && build.uploads.length > 0 ? { is: 'mine' } : ownershipOf(machines, named);
}

/** What was tried in vain may be tried again, and age may ask for a build. */
export function lookAround(memory: ImageMemory): void {
  memory.tried = [];
  const request = requestOfAge(memory.state, Date.now());
  change(memory, request === undefined ? {} : { request });
}

/** Checked by a worker, which knows plugins and provider accounts; taken over whole or not at all. */
async function configure(
  memory: ImageMemory,
  { spec: written }: ConfigureImageRequest,
): Promise<ConfigureImageReply> {
  const { name, uid } = memory.state;
  try {
    const { spec, placement } = await runCheckImage({ name, spec: written });
    const whole = withAccountOf(spec, placement);
    if (whole.source.kind === 'recipe') await planRecipe(memory, whole.source.cluster);
    const unchanged = stableJson((memory.state.spec ?? null) as Json) === stableJson(spec as unknown as Json);
    change(memory, { spec });
    lookAround(memory);
    return { unchanged, uid };
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
  const { notBefore: _soon, ...standing } = request ?? { by, at: now(), failed: 0 };
  change(memory, { request: standing });
  return { build: builds.some(({ state }) => state === 'building') ? numbers : numbers + 1 };
}

function cancelBuild(memory: ImageMemory): BuildReply {
  const { request: _request, ...state } = memory.state;
  memory.state = state;
  memory.stirred = true;
  if (memory.scope !== undefined) {
    memory.cancelled = true;
    memory.scope.cancel();
  }
  return { build: state.numbers };
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
  return spec === undefined ? `nobody said yet how image ${name} is made` : undefined;
}

function refuse(why: string | undefined): void {
  if (why !== undefined) throw ApplicationFailure.nonRetryable(why, 'Refused');
}
