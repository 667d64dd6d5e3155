import { bounds } from '../../model/bounds.js';
import { ApplicationFailure, uuid4, workflowInfo } from '@temporalio/workflow';
import { isOver, nextWork, uploadsDue, type ImageWork } from '../../model/image/decide.js';
import type { ImageState } from '../../model/image/state.js';
import { viewOfImage } from '../../model/image/view.js';
import { imageWorkflowId } from '../../model/names.js';
import { newMemory, noteChange, runEntity, showOrigins, type NextStep } from '../entity.js';
import { schedule } from '../schedule.js';
import { build } from './build.js';
import { drop, withdraw } from './drop.js';
import { whyOf } from './failure.js';
import { messagesOf } from './handlers.js';
import { takeBack } from './machine.js';
import { buildOf, changeUpload, noteBuild, type ImageMemory } from './memory.js';
import { isPublished, publishChanges } from './publish.js';
import { uploadAll } from './uploads.js';
import { condition } from '../inbox.js';

export type ImageInput = { readonly uid?: string } | { readonly carried: ImageState };

/** Failed work is retried after this, or at the next periodic check if that comes first. */
const tryAgainMs = 5 * 60_000;

/** An image: its recipe, its builds and their uploads. It lives until its deletion is complete. */
export async function image(input?: ImageInput): Promise<string> {
  const memory: ImageMemory = { ...newMemory(), state: openState(input), tried: [], tasks: 0 };
  showOrigins(memory.state);
  return runEntity(memory, {
    uid: memory.state.uid,
    messages: messagesOf(memory),
    first:
      input !== undefined && 'carried' in input
        ? undefined
        : {
            isAccepted: () => memory.state.spec !== undefined,
            isRefused: () => memory.state.leaving !== undefined,
            withinMs: 120_000,
            otherwise: 'this image received no request',
          },
    background: [() => publishChanges(memory)],
    step: () => act(memory),
    budget: { isPostponed: () => !isPublished(memory.state) },
    onCancel: () => {
      if (memory.scope === undefined) return;
      memory.cancelled = true;
      memory.scope.cancel();
    },
    carry: () => memory.state,
    bounds: bounds.image,
    details: () => detailsOf(memory.state),
  });
}

async function act(memory: ImageMemory): Promise<NextStep> {
  if (memory.state.exported !== undefined) return {};
  const now = Date.now();
  if (memory.retryAt !== undefined && memory.retryAt <= now) {
    memory.tried = [];
    delete memory.retryAt;
  }
  const work = nextWork(memory.state, now, memory.tried);
  if (work.do !== 'wait') {
    memory.working = work.do;
    await runWork(memory, work);
    delete memory.working;
    noteChange(memory);
    return {};
  }
  if (isOver(memory.state)) {
    await condition(() => isPublished(memory.state));
    return { ended: `image ${memory.state.name} was deleted` };
  }
  if (memory.tried.length > 0) memory.retryAt ??= now + tryAgainMs;
  const wakeAt = Math.min(now + (work.forMs ?? Infinity), memory.retryAt ?? Infinity);
  return { wakeAt: wakeAt === Infinity ? undefined : wakeAt };
}

async function runWork(
  memory: ImageMemory,
  work: Exclude<ImageWork, { readonly do: 'wait' }>,
): Promise<void> {
  const { spec } = memory.state;
  switch (work.do) {
    case 'clean up':
      return takeBack(memory, work.machine.name);
    case 'drop':
      return drop(memory, work.build);
    case 'withdraw':
      return withdraw(memory, work.build);
    case 'upload':
      return uploadAgain(memory, work.build.number);
    case 'build':
      return spec === undefined ? undefined : build(memory, spec);
  }
}

async function uploadAgain(memory: ImageMemory, number: number): Promise<void> {
  const { spec, name } = memory.state;
  memory.tried = [...memory.tried, `upload ${number}`];
  const due = uploadsDue(memory.state, buildOf(memory, number)).map(({ provider }) => provider);
  if (spec === undefined) return;
  let why = 'the image no longer names this account';
  try {
    await uploadAll(
      memory,
      number,
      await schedule('CHECK_IMAGE', { name, spec, made: true }),
      spec.uploads.filter(({ provider }) => due.includes(provider)),
    );
  } catch (error) {
    why = whyOf(error);
    noteBuild(memory, number, `it could not be uploaded again: ${why}`);
  }
  // A request received meanwhile starts another attempt at once; its uploads wait for that one.
  if (memory.tried.includes(`upload ${number}`)) failWaiting(memory, number, due, why);
}

/** An upload must not wait once its attempt has ended: callers wait for its result. */
function failWaiting(memory: ImageMemory, number: number, due: readonly string[], why: string): void {
  for (const upload of uploadsDue(memory.state, buildOf(memory, number)))
    if (upload.state === 'waiting' && due.includes(upload.provider))
      changeUpload(memory, number, { ...upload, state: 'failed', why });
}

function openState(input: ImageInput | undefined): ImageState {
  if (input !== undefined && 'carried' in input) return input.carried;
  const { workflowId } = workflowInfo();
  const name = workflowId.replace(/^image\//, '');
  if (workflowId !== imageWorkflowId(name))
    throw ApplicationFailure.nonRetryable(
      `an image's workflow id is image/<name>, not "${workflowId}"`,
      'Invalid',
    );
  return { name, uid: input?.uid ?? uuid4(), builds: [], numbers: 0, machines: [] };
}

function detailsOf(state: ImageState): string {
  const { name, source = '', newest, builds, paused, doing } = viewOfImage(state, Date.now());
  return [
    `**${name}**: ${doing}${paused === undefined ? '' : ` (paused: ${paused.why})`}`,
    '',
    `- ${source}`,
    `- offered: ${newest ?? 'none yet'}`,
    ...builds
      .slice(0, 10)
      .map(({ number, state: is, why }) => `- build ${number}: ${is}${why === undefined ? '' : `, ${why}`}`),
  ].join('\n');
}
