import { describe, expect, it } from 'vitest';
import { until } from '../until.js';
import type { Harness } from './harness.js';
import { askFor, operationCases } from './operations.js';
import { checkAtRest, checkDelete, checkWhole } from './oracle.js';
import { reset, resetPoints } from './resets.js';
import { tiny } from './specs.js';

/** No create of two nodes has more ends of workflow tasks. */
const manyPoints = 40;
const tasks = operationCases[0]?.tasks ?? [];

export interface WebUiCut {
  /** Every which of the cases is played. */
  readonly every: number;
}

/** What people do to a cluster in the Web UI, behind its back. */
export function playWebUi(open: () => Harness, { every }: WebUiCut): void {
  const cut = <Case>(cases: readonly Case[]): readonly Case[] =>
    cases.filter((_case, index) => index % every === 0);

  async function apply(name: string): Promise<void> {
    const harness = open();
    const { operation } = await harness.waitFor(name, await askFor(harness.client, name, { apply: {} }));
    expect(operation.state, JSON.stringify(operation)).toBe('done');
  }

  async function untilWhole(name: string): Promise<void> {
    const harness = open();
    await harness.points.silence(name);
    await until(
      `${name} is at rest`,
      async () => (await harness.client.status(name)).history[0]?.state === 'done',
    );
    checkWhole(harness, await checkAtRest(harness, name, { anyOrder: true }));
  }

  describe.concurrent('in the Web UI', () => {
    it.each(cut(Array.from({ length: manyPoints }, (_, index) => index)))(
      'a finished create is reset to the end of its workflow task %i',
      async (index) => {
        const harness = open();
        const name = `reset-${index}`;
        await apply(name);
        const events = await resetPoints(harness, name);
        expect(events.length).toBeLessThanOrEqual(manyPoints);
        // Shorter histories are reset to their last point once more.
        await reset(harness, name, events[Math.min(index, events.length - 1)] ?? 0);
        await untilWhole(name);
        await checkDelete(harness, name, { anyOrder: true });
      },
    );

    it.each(cut(tasks))('a create is reset to where it stands while %s is under way', async (task) => {
      const harness = open();
      const name = `reset-at-${tasks.indexOf(task)}`;
      harness.points.arm({
        cluster: name,
        task,
        act: {
          before: async () => {
            await reset(harness, name, (await resetPoints(harness, name)).at(-1) ?? 0);
          },
        },
      });
      await harness.client.apply(tiny(name));
      await untilWhole(name);
      await checkDelete(harness, name, { anyOrder: true });
    });

    it.each(cut(tasks))('a create is terminated at %s, and applied again', async (task) => {
      const harness = open();
      const name = `terminate-${tasks.indexOf(task)}`;
      harness.points.arm({
        cluster: name,
        task,
        act: {
          before: async () => {
            await harness.client.temporal.workflow.getHandle(`cluster/${name}`).terminate('test');
          },
        },
      });
      await harness.client.apply(tiny(name));
      await until(`${task} of ${name}`, () => harness.points.isMet(name));
      await harness.points.silence(name);
      await apply(name);
      checkWhole(harness, await checkAtRest(harness, name, { anyOrder: true }));
      await checkDelete(harness, name, { anyOrder: true });
    });

    it.each(cut(tasks))('a create is cancelled at %s, and applied again', async (task) => {
      const harness = open();
      const name = `cancel-${tasks.indexOf(task)}`;
      harness.points.arm({
        cluster: name,
        task,
        act: {
          before: async () => {
            await harness.client.temporal.workflow.getHandle(`cluster/${name}`).cancel();
          },
        },
      });
      const id = await askFor(harness.client, name, { apply: {} });
      expect((await harness.waitFor(name, id)).operation.state).toBe('cancelled');
      await apply(name);
      checkWhole(harness, await checkAtRest(harness, name, { anyOrder: true }));
      await checkDelete(harness, name, { anyOrder: true });
    });
  });
}
