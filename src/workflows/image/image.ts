import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  setCurrentDetails,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { isOver, nextWork, type ImageWork } from '../../model/image/decide.js';
import { viewOfImage, type ImageState } from '../../model/image/state.js';
import { imageWorkflowId } from '../../model/names.js';
import { runCheckImage } from '../run-task.js';
import { build } from './build.js';
import { drop } from './drop.js';
import { whyOf } from './failure.js';
import { handleMessages } from './handlers.js';
import { takeBack } from './machine.js';
import { noteBuild, type ImageMemory } from './memory.js';
import { isAllTold, keepTelling } from './tell.js';
import { uploadAll } from './uploads.js';

export type ImageInput = { readonly uid?: string } | { readonly carried: ImageState };

/** What could not be done is tried again after this, where no round comes before. */
const tryAgainMs = 5 * 60_000;

/** An image: how it is made, its builds, and where they are. It lives as long as somebody wants the image. */
export async function image(input?: ImageInput): Promise<string> {
  const cancelled = CancellationScope.current().cancelRequested;
  // Ending the workflow would leave machines and images behind, so cancelling it from outside cancels the
  // build under way.
  return CancellationScope.nonCancellable(() => live(input, cancelled));
}

async function live(input: ImageInput | undefined, cancelled: Promise<never>): Promise<string> {
  const memory: ImageMemory = { state: openState(input), tried: [], stirred: false, tasks: 0 };
  handleMessages(memory);
  cancelled.catch(() => {
    memory.renew = true;
    if (memory.scope === undefined) return;
    memory.cancelled = true;
    memory.scope.cancel();
  });
  if (input === undefined || !('carried' in input)) {
    upsertMemo({ heddleUid: memory.state.uid });
    // A first message that was refused leaves an image nobody asked for.
    await condition(() => memory.state.spec !== undefined || memory.state.leaving !== undefined, '2 minutes');
    await condition(allHandlersFinished);
    if (memory.state.spec === undefined) return 'nothing was asked of this image';
  }
  void keepTelling(memory);
  for (;;) {
    memory.stirred = false;
    setCurrentDetails(detailsOf(memory.state));
    const work = nextWork(memory.state, Date.now(), memory.tried);
    if (work.do !== 'wait') {
      await carryOut(memory, work);
      continue;
    }
    if (isOver(memory.state)) {
      await condition(() => allHandlersFinished() && isAllTold(memory.state));
      return `image ${memory.state.name} was deleted`;
    }
    if (isWorn(memory)) return continueAsNew<typeof image>({ carried: memory.state });
    await rest(memory, work);
  }
}

async function rest(
  memory: ImageMemory,
  { forMs = Number.POSITIVE_INFINITY }: ImageWork & { readonly do: 'wait' },
): Promise<void> {
  const limit = Math.min(forMs, memory.tried.length > 0 ? tryAgainMs : Number.POSITIVE_INFINITY);
  const isStirred = (): boolean => memory.stirred || isWorn(memory);
  if (limit === Number.POSITIVE_INFINITY) await condition(isStirred);
  else if (!(await condition(isStirred, Math.max(limit, 1)))) memory.tried = [];
}

async function carryOut(
  memory: ImageMemory,
  work: Exclude<ImageWork, { readonly do: 'wait' }>,
): Promise<void> {
  const { spec } = memory.state;
  switch (work.do) {
    case 'clean up':
      return takeBack(memory, work.machine.name);
    case 'drop':
      return drop(memory, work.build);
    case 'upload':
      return uploadAgain(memory, work.build.number);
    case 'build':
      return spec === undefined ? undefined : build(memory, spec);
  }
}

async function uploadAgain(memory: ImageMemory, number: number): Promise<void> {
  const { spec, name, builds } = memory.state;
  memory.tried = [...memory.tried, `upload ${number}`];
  const failed =
    builds
      .find((one) => one.number === number)
      ?.uploads.filter(({ state }) => state === 'failed')
      .map(({ provider }) => provider) ?? [];
  if (spec === undefined) return;
  try {
    await uploadAll(
      memory,
      number,
      await runCheckImage({ name, spec, made: true }),
      spec.uploads.filter(({ provider }) => failed.includes(provider)),
    );
  } catch (error) {
    noteBuild(memory, number, `it could not be uploaded again: ${whyOf(error)}`);
  }
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
  return { stateVersion: 1, name, uid: input?.uid ?? uuid4(), builds: [], numbers: 0, machines: [] };
}

function isWorn({ renew, state }: ImageMemory): boolean {
  return (
    (workflowInfo().continueAsNewSuggested || renew === true) && allHandlersFinished() && isAllTold(state)
  );
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
