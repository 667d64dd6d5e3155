import { waitsForBuilder } from '../../model/image/build.js';
import type { ImageView } from '../../model/image/view.js';
import { cleanLine } from '../clean-text.js';
import { CliError } from '../cli-error.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { catchInterrupt } from '../operate/follow-operation.js';
import { createOutput, type Output } from '../output.js';
import { requireWorker, withSession } from '../session.js';
import { formatDuration } from '../time-text.js';

/** Asks for a build and waits for it, telling its steps. */
export async function build(
  name: string,
  options: ServerOptions & { readonly wait: boolean },
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const { images } = session.client;
    const { build: number } = await images.build(name);
    if (!options.wait) {
      output.line(cleanLine(`image ${name}: build ${number} is asked for`));
      output.line(cleanLine(`next: heddle image show ${name}`));
      output.document({ image: { name }, build: { number } });
      return exitCodes.ok;
    }
    const interrupt = catchInterrupt();
    try {
      const waiting = images.waitForBuild(name, number, {
        signal: interrupt.signal,
        onView: tellSteps(output, number),
      });
      waiting.catch(() => undefined);
      const made = await Promise.race([waiting, interrupt.happened]);
      const took = formatDuration(Date.parse(made.endedAt ?? made.startedAt) - Date.parse(made.startedAt));
      output.line(
        cleanLine(
          `image ${name}@${made.number} is ready after ${took}${made.sizeMb === undefined ? '' : `, ${made.sizeMb} MB`}`,
        ),
      );
      output.document({ image: { name }, build: made });
      return exitCodes.ok;
    } catch (cause) {
      if (!interrupt.signal.aborted) throw cause;
      throw new CliError('Interrupted', `stopped watching; the build of image ${name} goes on`, {
        next: `heddle image show ${name}`,
        cause,
      });
    } finally {
      interrupt.release();
    }
  });
}

/** One line for each step, and one for each build that came to nothing. */
function tellSteps(output: Output, from: number): (view: ImageView) => void {
  const told = new Set<string>();
  const tell = (key: string, line: string): void => {
    if (told.has(key)) return;
    told.add(key);
    output.line(cleanLine(line));
  };
  return ({ name, builds, paused }) => {
    if (paused !== undefined)
      tell('paused', `it is paused (${paused.why}); the request stays until heddle image resume ${name}`);
    for (const { number, state, step, why } of builds.filter((one) => one.number >= from).toReversed()) {
      if (step !== undefined)
        tell(
          `${number} ${step}`,
          `build ${number}: ${step}${step === waitsForBuilder ? '; heddle builder start, where none runs' : ''}`,
        );
      if (state === 'failed') tell(`${number} failed`, `build ${number} failed: ${why}; it is tried again`);
    }
  };
}
