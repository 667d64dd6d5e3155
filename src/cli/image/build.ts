import { waitsForBuilder, type Build } from '../../model/image/build.js';
import type { ImageView } from '../../schema/output/image.js';
import type { Output } from '../output.js';
import { formatDuration } from '../format.js';
import { verb } from '../verb.js';
import { followImage, type FollowOptions } from './follow.js';

/** Requests a build, waits for it and shows its steps. */
export const build = verb(
  async (session, name: string, options: FollowOptions): Promise<Partial<Build>> => {
    const { images } = session.client;
    const { build: number } = await images.build(name);
    if (!options.wait) return { number };
    const show = showSteps(session.output, number);
    return followImage(session, options, {
      name,
      what: `the build of image ${name}`,
      wait: (signal, note) => {
        const onView = (view: ImageView): void => {
          note(view);
          show(view);
        };
        return images.waitForBuild(name, number, { signal, onView, everyMs: 500 });
      },
    });
  },
  {
    worker: true,
    document: (made, name) => ({ image: { name }, build: made }),
    print: (output, { number, startedAt, endedAt = startedAt, sizeMb }, name) => {
      if (startedAt === undefined || endedAt === undefined) {
        output.line(`image ${name}: build ${number} is requested`);
        output.line(`next: heddle image show ${name}`);
        return;
      }
      const took = formatDuration(Date.parse(endedAt) - Date.parse(startedAt));
      output.line(
        `image ${name}@${number} is ready after ${took}${sizeMb === undefined ? '' : `, ${sizeMb} MB`}`,
      );
    },
  },
);

/** One line for each step and each failed build. */
function showSteps(output: Output, from: number): (view: ImageView) => void {
  const shown = new Set<string>();
  const show = (key: string, line: string): void => {
    if (!shown.has(key)) output.line(line);
    shown.add(key);
  };
  return ({ name, builds, paused }) => {
    if (paused !== undefined)
      show('paused', `it is paused (${paused.why}); the request stays until heddle image resume ${name}`);
    for (const { number, state, step, why } of builds.filter((one) => one.number >= from).toReversed()) {
      const hint = step === waitsForBuilder ? "; run 'heddle builder start' if none is running" : '';
      if (step !== undefined) show(`${number} ${step}`, `build ${number}: ${step}${hint}`);
      if (state === 'failed') show(`${number} failed`, `build ${number} failed: ${why}; it will be retried`);
    }
  };
}
