import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { waitsForBuilder, type Build } from '../../model/image/build.js';
import { afterFailure, rotate } from '../../model/image/decide.js';
import type { CheckedImage } from '../../model/image/messages.js';
import { withAccountOf } from '../../model/image/node.js';
import { describeSource, sourceOf, type ImageSpec } from '../../model/image/spec.js';
import { buildPermitsOf } from '../../model/names.js';
import { schedule } from '../schedule.js';
import { buildByCommand } from './command.js';
import { whyOf } from './failure.js';
import { runLibraryTask } from './library.js';
import { change, now } from '../entity.js';
import { buildOf, changeBuild, noteBuild, type ImageMemory } from './memory.js';
import { buildByRecipe } from './recipe.js';

/** One build, from the place for it to its end. It throws nothing: what went wrong is in its record. */
export async function build(memory: ImageMemory, spec: ImageSpec): Promise<void> {
  const { request, numbers } = memory.state;
  const number = numbers + 1;
  const begun: Build = {
    number,
    state: 'building',
    startedAt: now(),
    files: [],
    uploads: [],
    notes: [],
    step: waitsForBuilder,
    provenance: { recipe: '', source: describeSource(spec), by: request?.by ?? '-' },
  };
  change(memory, { numbers: number, builds: [begun, ...memory.state.builds] });
  const scope = new CancellationScope({ cancellable: true });
  memory.scope = scope;
  try {
    await scope.run(() => make(memory, number, spec));
    if (memory.cancelled === true)
      return ended(memory, number, { state: 'cancelled', why: 'it was cancelled' });
    ended(memory, number, {
      state: 'ready',
      ...(spec.validate === false
        ? {}
        : { provenance: { ...buildOf(memory, number).provenance, validated: now() } }),
    });
    const { builds, pausedUploads } = memory.state;
    change(memory, { request: undefined, builds: rotate(builds, spec.keep, pausedUploads) });
  } catch (error) {
    if (isCancellation(error) || memory.cancelled === true)
      return ended(memory, number, { state: 'cancelled', why: 'it was cancelled' });
    ended(memory, number, { state: 'failed', why: whyOf(error) });
    const { request: pending, builds, pausedUploads } = memory.state;
    change(memory, {
      builds: rotate(builds, spec.keep, pausedUploads),
      request: pending === undefined ? undefined : afterFailure(pending, Date.now()),
    });
  } finally {
    delete memory.scope;
    delete memory.cancelled;
  }
}

async function make(memory: ImageMemory, number: number, spec: ImageSpec): Promise<void> {
  const checked = await schedule('CHECK_IMAGE', { name: memory.state.name, spec });
  const whole = withAccountOf(spec, checked.placement);
  changeBuild(memory, number, {
    provenance: { ...buildOf(memory, number).provenance, recipe: checked.recipe },
  });
  const source = sourceOf(whole);
  const slots = { site: buildPermitsOf(checked.site), places: 1 };
  try {
    await runLibraryTask(memory, number, 'ACQUIRE_BUILD_PERMIT', checked, { slots });
    await (source.kind === 'recipe'
      ? buildByRecipe(memory, number, whole, source, checked)
      : buildByCommand(memory, number, whole, source, checked));
  } finally {
    await releasePermit(memory, number, checked, slots);
  }
}

/** A place that was not given back is the same image's at its next build. */
async function releasePermit(
  memory: ImageMemory,
  number: number,
  checked: CheckedImage,
  slots: { readonly site: string; readonly places: number },
): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    try {
      await runLibraryTask(memory, number, 'RELEASE_PERMIT', checked, { slots });
    } catch (error) {
      noteBuild(memory, number, `its build permit of the site was not released: ${whyOf(error)}`);
    }
  });
}

function ended(memory: ImageMemory, number: number, end: Partial<Build>): void {
  const { step: _step, ...build } = buildOf(memory, number);
  change(memory, {
    builds: memory.state.builds.map((other) =>
      other.number === number ? { ...build, ...end, endedAt: now() } : other,
    ),
  });
}
