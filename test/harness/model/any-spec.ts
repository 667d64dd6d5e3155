import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import { fc } from '../property.js';
import { group, needing, reloading, service, spec, toInstall, toRun } from './specs.js';

/** Of the services of random clusters. */
export const names = ['a', 'b', 'c', 'd', 'e'];
const actionKeys: readonly (keyof typeof reloading)[] = [
  'install',
  'configure',
  'reload',
  'initialize',
  'start',
  'stop',
  'remove',
];

/** Random clusters. Services need only those named before them, so that there is no circle. */
export const anySpec = fc
  .record({
    needs: fc.uniqueArray(fc.tuple(fc.nat(4), fc.nat(4), fc.constantFrom(needing, toInstall, toRun)), {
      maxLength: 8,
      selector: ([x, y]) => `${x}-${y}`,
    }),
    groups: fc.array(
      fc.record({
        count: fc.integer({ min: 1, max: 4 }),
        services: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 5 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    missing: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...actionKeys)), {
      maxLength: 6,
      selector: ([x, y]) => x + y,
    }),
    peers: fc.constantFrom('all' as const, 'dependencies' as const, 'none' as const),
    onPeersChange: fc.constantFrom('configure' as const, 'restart' as const, 'nothing' as const),
    onConfigChange: fc.constantFrom('restart' as const, 'configure' as const, 'nothing' as const, undefined),
    rolling: fc.option(fc.record({ batch: fc.integer({ min: 1, max: 2 }), drains: fc.boolean() }), {
      nil: undefined,
    }),
    config: fc.constantFrom('one', 'two'),
    script: fc.constantFrom('one', 'two'),
    hardware: fc.constantFrom('small', 'small', 'large'),
  })
  .map(({ needs, groups, missing, script, hardware, config, rolling, ...changes }): ClusterSpec => {
    const { peers, onPeersChange, onConfigChange } = changes;
    const services = Object.fromEntries(
      names.map((name, place) => {
        const own = needs
          .filter(([from, to]) => from === place && to < place)
          .map(([, to, how]) => how(names[to] ?? ''));
        const install = own.flatMap((need) => ('install' in need ? need.install.requires : []));
        const runtime = own.flatMap((need) => ('runtime' in need ? need.runtime.requires : []));
        const actions = Object.fromEntries(
          Object.entries({ ...reloading, configure: { type: 'ansible', fields: { script } } }).filter(
            ([key]) => !missing.some(([of, action]) => of === name && action === key),
          ),
        );
        return [
          name,
          service({
            ...toInstall(...install),
            ...toRun(...runtime),
            actions,
            peers,
            onPeersChange: 'configure' in actions ? onPeersChange : 'nothing',
            ...(onConfigChange === undefined ? {} : { onConfigChange }),
            // The one before the last: the last routes traffic to it.
            ...(rolling === undefined || name !== 'd'
              ? {}
              : { rolling: { batch: rolling.batch, drain: rolling.drains ? ['e'] : [], maxFailures: 0 } }),
          }),
        ];
      }),
    );
    return spec(
      Object.fromEntries(
        groups.map(({ count, services: on }, place) => [`g${place}`, { ...group(count, ...on), hardware }]),
      ),
      services,
      { config: { key: config } },
    );
  });

/** The choices of a run, so that a failing case can be played again. */
export const anyPicks = fc.infiniteStream(fc.nat(1_000)).map(
  (stream) =>
    (choices: number): number =>
      (stream.next().value ?? 0) % choices,
);
