import { expect, it } from 'vitest';
import { describeCounts, allTasks } from '../../src/cli/cluster/plan/plan-text.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import { PlanError } from '../../src/model/plan/plan-error.js';
import { anyPicks, anySpec, names } from '../harness/model/any-spec.js';
import { TestCluster } from '../harness/model/cluster.js';
import { fc } from '../harness/property.js';

const anyRequest = fc.record({
  spec: anySpec,
  pick: anyPicks,
  kind: fc.constantFrom('apply', 'reconfigure', 'restart'),
  services: fc.constantFrom<readonly string[]>([], ...names.map((name) => [name])),
  width: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
});

it('the first plan of a change that no machine and no service joins or leaves counts the tasks of all plans', () => {
  const counted = { single: 0, staged: 0, drained: 0 };
  fc.assert(
    fc.property(anyRequest, ({ spec, pick, kind, services, width }) => {
      const rolling = width === undefined ? {} : { width };
      const intent: Intent =
        kind === 'apply'
          ? { kind, ...rolling }
          : { kind, services, ...rolling, ...(kind === 'restart' ? {} : { restart: true }) };
      const after: ClusterSpec = { ...spec, config: { ...spec.config, changed: true } };
      const cluster = new TestCluster(pick);
      cluster.run({ kind: 'apply' }, spec);
      const { state } = cluster;
      try {
        cluster.begin(intent, kind === 'apply' ? after : undefined);
        const plan = cluster.plan();
        cluster.state = state;
        const plays = cluster.run(intent, kind === 'apply' ? after : undefined);
        expect(allTasks(plan)).toBe(plays.reduce((sum, { done }) => sum + done.length, 0));
        expect(describeCounts({ plan, losses: { lost: [], released: [] } })).not.toContain('about');
        counted[plan.later === undefined ? 'single' : plan.repeated === undefined ? 'staged' : 'drained'] +=
          1;
      } catch (error) {
        // Some choices fit nothing.
        if (!(error instanceof PlanError)) throw error;
      }
    }),
    { numRuns: 300 },
  );
  expect(counted.staged).toBeGreaterThan(1);
  expect(counted.drained).toBeGreaterThan(5);
});
