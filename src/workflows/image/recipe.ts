import { ApplicationFailure } from '@temporalio/workflow';
import { imageRefOf, type ImageFile } from '../../model/image/build.js';
import type { CheckedImage } from '../../model/image/messages.js';
import { recipeGroup, type ImageSpec, type RecipeSource } from '../../model/image/spec.js';
import { machineKey } from '../../model/names.js';
import { firstIncarnation } from '../../model/machine/assigned.js';
import { captureNode } from './node.js';
import { planRecipe } from './plan-recipe.js';
import { openMachine, operate, takeBack } from './machine.js';
import { captureOwnerOf, runLibraryTask } from './library.js';
import { buildOf, changeBuild, type ImageMemory } from './memory.js';
import { recordCapture } from './record-capture.js';
import { runChain } from './run-chain.js';
import { uploadAll, validatedAtOf } from './uploads.js';
import { validate } from './validate.js';

/**
 * From a base image or an existing node: services, a capture, a test boot of the result, then the other
 * providers.
 */
export async function buildByRecipe(
  memory: ImageMemory,
  number: number,
  spec: ImageSpec,
  source: RecipeSource,
  checked: CheckedImage,
): Promise<void> {
  const { provider } = captured(source);
  await captureRecipe(memory, number, source, checked);
  if (spec.validate !== false && spec.validate.provider === provider)
    await validate(memory, number, { validation: spec.validate, system: source.system });
  await bringToOthers(memory, number, spec, source, checked);
  if (spec.validate !== false && spec.validate.provider !== provider)
    await validate(memory, number, { validation: spec.validate, system: source.system });
}

async function captureRecipe(
  memory: ImageMemory,
  number: number,
  source: RecipeSource,
  { accounts }: CheckedImage,
): Promise<void> {
  const { cluster, system, from } = source;
  if (from !== undefined) return captureNode(memory, number, { ...source, from }, accounts);
  const { provider, hardware, image, fields } = captured({ cluster });
  const { type = '', site = '' } = accounts[provider] ?? {};
  const onStep = (step: string): void => changeBuild(memory, number, { step });
  const plan = await planRecipe(memory, cluster);
  const name = `${memory.state.name}-build-${number}`;
  const machine = openMachine(
    memory,
    name,
    { provider, flavor: hardware, image, fields, system },
    { capturesFor: captureOwnerOf(memory, number) },
  );
  const build = buildOf(memory, number);
  changeBuild(memory, number, {
    provenance: { ...build.provenance, machine: machineKey(memory.state.uid, name, firstIncarnation) },
  });
  const ref = imageRefOf(memory.state.name, build);
  try {
    onStep('CREATE');
    await operate(machine, { kind: 'register' });
    const chain = (plan.kinds[0]?.chain ?? []).filter(
      ({ action }) => action !== 'CREATE' && action !== 'CONFIRM',
    );
    await runChain(memory, machine, chain, {
      group: recipeGroup,
      spec: cluster,
      plugins: plan.plugins,
      onStep,
    });
    onStep('CAPTURE');
    await recordCapture(memory, number, { provider, type, site, image: ref }, () =>
      operate(machine, { kind: 'capture', image: ref, prove: false }),
    );
  } finally {
    await takeBack(memory, name, number);
  }
}

async function bringToOthers(
  memory: ImageMemory,
  number: number,
  spec: ImageSpec,
  source: RecipeSource,
  checked: CheckedImage,
): Promise<void> {
  if (spec.uploads.length === 0) return;
  const { provider } = captured(source);
  const { type = '' } = checked.accounts[provider] ?? {};
  changeBuild(memory, number, { step: `downloads from ${provider}` });
  const formats = [...new Set(spec.uploads.map(({ format }) => format))];
  for (const format of formats) {
    const { files = [] } = await runLibraryTask(
      memory,
      number,
      'DOWNLOAD_IMAGE',
      { site: checked.site, provider, type },
      { file: { path: '', format } },
    );
    const made = files.map((file): ImageFile => ({ ...file, site: checked.site }));
    changeBuild(memory, number, { files: [...buildOf(memory, number).files, ...made] });
  }
  changeBuild(memory, number, { step: 'uploads' });
  await uploadAll(memory, number, checked, spec.uploads, validatedAtOf(spec));
}

function captured({ cluster }: Pick<RecipeSource, 'cluster'>): RecipeSource['cluster']['nodes'][string] {
  const group = cluster.nodes[recipeGroup];
  if (group === undefined) throw ApplicationFailure.nonRetryable('the recipe names no machine', 'Invalid');
  return group;
}
