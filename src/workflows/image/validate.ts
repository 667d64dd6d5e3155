import { ApplicationFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import { milliseconds } from '../../model/milliseconds.js';
import { formatImageRef } from '../../model/machine/image.js';
import { imageRefOf } from '../../model/image/build.js';
import type { EngineKind } from '../../model/node/failure.js';
import type { Validation } from '../../model/image/spec.js';
import { openMachine, operate, takeBack } from './machine.js';
import { buildOf, changeBuild, type ImageMemory } from './memory.js';
import { runChain } from './run-chain.js';

export interface Validating {
  readonly validation: Validation;
  /** The automator of the machine's system, if the image has a record of itself. */
  readonly system: string | null;
}

/**
 * Nothing is offered before a machine that was made from it has booted, says what it is, and passed the
 * command.
 */
export async function validate(
  memory: ImageMemory,
  number: number,
  { validation, system }: Validating,
): Promise<void> {
  const { provider, hardware, fields, within } = validation;
  const image = imageRefOf(memory.state.name, buildOf(memory, number));
  const upload = buildOf(memory, number).uploads.find((one) => one.provider === provider);
  if (upload?.state !== 'ready')
    throw ApplicationFailure.nonRetryable(
      `it could not be validated at ${provider}, which does not have it: ${upload?.why ?? 'nothing was uploaded there'}`,
      'Invalid',
    );
  const name = `${memory.state.name}-check-${number}`;
  changeBuild(memory, number, { step: `validates at ${provider}` });
  const machine = openMachine(memory, name, {
    provider,
    flavor: hardware,
    image: upload.image ?? formatImageRef(image),
    fields,
    system,
  });
  const outer = CancellationScope.current();
  try {
    await CancellationScope.withTimeout(milliseconds(within), async () => {
      await operate(machine, { kind: 'register' });
      if (system !== null) {
        const { status } = await operate(machine, { kind: 'status', image });
        // It was never loaded onto this machine, so the steps after loading are not done.
        if (status?.status !== 'READY' && status?.status !== 'POST_LOAD')
          throw ApplicationFailure.nonRetryable(
            `a machine created from it does not have it: ${status?.why}`,
            'Invalid',
          );
      }
      const { command } = validation;
      if (command !== undefined) {
        await runChain(memory, machine, [{ action: 'EXEC' }], {
          group: 'check',
          command: { text: command },
          onStep: () => undefined,
        });
      }
    });
  } catch (error) {
    if (isCancellation(error) && !outer.consideredCancelled && memory.cancelled !== true)
      throw ApplicationFailure.nonRetryable(
        `a machine created from it did not pass the validation within ${milliseconds(within)} ms`,
        'Timeout' satisfies EngineKind,
      );
    throw error;
  } finally {
    await takeBack(memory, name, number);
  }
}
