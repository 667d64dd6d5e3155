import fc from 'fast-check';
import type { Harness } from './harness.js';
import type { Ask } from './operations.js';
import type { Shape } from './specs.js';
import { ask, check, leave, troubles, type Model, type Trouble, type User } from './user.js';

type Command = fc.AsyncCommand<Model, User>;

const anyShape: fc.Arbitrary<Shape> = fc.record({
  web: fc.integer({ min: 1, max: 3 }),
  config: fc.nat(1),
  cache: fc.boolean(),
});
const anyTrouble: fc.Arbitrary<Trouble> = fc.record({
  what: fc.constantFrom(...troubles, 'nothing' as const, 'cancel' as const),
  skip: fc.nat(14),
  then: fc.constantFrom('retry' as const, 'cancel' as const, 'apply' as const),
});
const anyOperate: fc.Arbitrary<Ask> = fc.constantFrom<Ask[]>(
  { operate: { kind: 'stop', services: ['db'] } },
  { operate: { kind: 'stop', services: ['web'] } },
  { operate: { kind: 'start', services: ['web'] } },
  { operate: { kind: 'restart', services: ['db'] } },
  { operate: { kind: 'restart', services: ['web'], width: 1 } },
  { operate: { kind: 'reconfigure', services: [] } },
  { operate: { kind: 'reconfigure', services: ['web'], restart: true, width: 1 } },
  { operate: { kind: 'replace', nodes: ['web-1'] } },
  { operate: { kind: 'replace', nodes: ['db-1', 'web-1'] } },
  { operate: { kind: 'exec', command: 'true' } },
);

const applies = fc
  .tuple(anyShape, anyTrouble)
  .map(([shape, trouble]): Command => ({
    check: () => true,
    run: (model, user) => ask(model, user, { apply: shape }, trouble),
    toString: () => `apply ${JSON.stringify(shape)} ${JSON.stringify(trouble)}`,
  }));

const operates = fc
  .tuple(anyOperate, anyTrouble)
  .map(([asked, trouble]): Command => ({
    check: ({ shape, whole }) => shape !== undefined && whole,
    run: (model, user) => ask(model, user, asked, trouble),
    toString: () => `${JSON.stringify(asked)} ${JSON.stringify(trouble)}`,
  }));

const deletes = anyTrouble.map((trouble): Command => ({
  check: ({ shape }) => shape !== undefined,
  run: (model, user) => ask(model, user, { remove: true }, trouble),
  toString: () => `delete ${JSON.stringify(trouble)}`,
}));

/** A machine is gone behind everybody's back; the next apply brings another. */
const losses = fc.nat(3).map((which): Command => ({
  check: ({ whole }) => whole,
  async run(model, user) {
    const {
      harness: { cloud },
      name,
      story,
    } = user;
    const machines = cloud.machines(name);
    const lost = machines[which % machines.length];
    if (lost === undefined) return;
    story.push(`lose ${lost.hostname}`);
    cloud.lose(lost.id);
    await ask(model, user, { apply: model.shape ?? {} }, { what: 'nothing', skip: 0, then: 'retry' });
    await check(model, user);
  },
  toString: () => `lose machine ${which}`,
}));

export interface StoryOptions {
  readonly seed: number;
  readonly runs: number;
  readonly commands: number;
}

/**
 * Random stories of one user and one cluster each, one after the other.
 * @throws Error with the seed and what had been done.
 */
export async function playStories(
  harness: Harness,
  prefix: string,
  { seed, runs, commands }: StoryOptions,
): Promise<void> {
  let count = 0;
  let told: Error | undefined;
  const property = fc.asyncProperty(
    applies,
    fc.array(fc.oneof(applies, applies, operates, operates, operates, losses, deletes), {
      minLength: commands,
      maxLength: commands,
    }),
    async (first, others) => {
      count += 1;
      const user: User = { name: `${prefix}-${count}`, harness, story: [] };
      const model: Model = { shape: undefined, whole: false, adopted: false, anyOrder: false };
      try {
        await fc.asyncModelRun(() => ({ model, real: user }), [first, ...others]);
        await leave(model, user);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        told = new Error(
          `HEDDLE_SEED=${seed} plays this again (${user.name}): ${why}\n${user.story.join('\n')}`,
          { cause: error },
        );
        throw told;
      }
    },
  );
  await fc.assert(property, { seed, numRuns: runs, endOnFailure: true }).catch((error: unknown) => {
    throw told ?? error;
  });
}
