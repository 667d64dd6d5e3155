import { ok } from 'node:assert/strict';
import type { Json, JsonObject } from '../model/json.js';
import type { Descriptor, FieldDeclaration, FieldScope } from '../schema/descriptor.js';
import { checkFields } from '../schema/fields.js';
import { formatPath, hasErrors } from '../schema/problem.js';
import type { Case } from './runner.js';

export type FieldCaseId = 'missing-fields' | 'wrong-fields';

/** What the descriptor of a plugin must say of its fields, so that nothing wrong ever reaches the plugin. */
export function fieldCases<Bench extends { readonly plugin: { readonly descriptor: Descriptor } }>(
  written: (bench: Bench, scope: FieldScope) => JsonObject,
): readonly Case<FieldCaseId, Bench>[] {
  return [
    {
      id: 'missing-fields',
      title: 'declares what it needs: without a required field nothing is called, and the field is named',
      lacks: ({ plugin }) =>
        requiredFields(plugin.descriptor).length === 0 && conditionalFields(plugin.descriptor).length === 0
          ? 'its descriptor requires no field'
          : undefined,
      run: (bench) => {
        for (const [scope, keys] of requiredFields(bench.plugin.descriptor)) {
          const rest = Object.fromEntries(
            Object.entries(written(bench, scope)).filter(([key]) => !keys.includes(key)),
          );
          ok(
            hasErrors(checkFields(bench.plugin.descriptor, scope, rest, [scope]).problems),
            `without ${scope} field ${keys.join(', ')} no problem is reported`,
          );
        }
        checkConditional(bench.plugin.descriptor, (scope) => written(bench, scope));
        return Promise.resolve();
      },
    },
    {
      id: 'wrong-fields',
      title:
        'declares kinds of its fields: a value of another kind or out of bounds is refused with its place, and so is an unknown field',
      lacks: ({ plugin }) =>
        plugin.descriptor.fields === undefined ? 'its descriptor declares no fields' : undefined,
      run: (bench) => {
        const { descriptor } = bench.plugin;
        for (const scope of ['admin', 'user'] as const) {
          for (const [key, field] of Object.entries(descriptor.fields?.[scope] ?? {})) {
            for (const wrong of wrongValues(field)) {
              const values = { ...written(bench, scope), [key]: wrong };
              const { problems } = checkFields(descriptor, scope, values, [scope]);
              ok(
                problems.some(({ path }) => formatPath(path).startsWith(`${scope}.${key}`)),
                `${scope} field ${key} accepts ${JSON.stringify(wrong)}`,
              );
            }
          }
          ok(
            hasErrors(
              checkFields(descriptor, scope, { ...written(bench, scope), 'no-such-field': 1 }, [scope])
                .problems,
            ),
            `an unknown ${scope} field is accepted`,
          );
        }
        return Promise.resolve();
      },
    },
  ];
}

/** Of another kind, with items of another kind, and beyond the bounds. */
function wrongValues({ type, min, max, items }: FieldDeclaration): readonly Json[] {
  if (type === 'json') return [];
  return [
    type === 'boolean' ? 'maybe' : true,
    ...(items === undefined ? [] : [type === 'list' ? [{}] : { entry: {} }]),
    ...(typeof min === 'number' ? [min - 1] : []),
    ...(typeof max === 'number' ? [max + 1] : []),
  ];
}

function conditionalFields({ fields }: Descriptor): readonly (readonly [FieldScope, string])[] {
  return (['admin', 'user'] as const).flatMap((scope) =>
    Object.entries(fields?.[scope] ?? {}).flatMap(([key, { requiredWhen, default: fallback }]) =>
      requiredWhen === undefined || fallback !== undefined ? [] : [[scope, key] as const],
    ),
  );
}

/** Where other fields require a field, its absence is reported. */
function checkConditional(descriptor: Descriptor, written: (scope: FieldScope) => JsonObject): void {
  for (const [scope, key] of conditionalFields(descriptor)) {
    const { [key]: _left, ...rest } = written(scope);
    const conditions = Object.entries(descriptor.fields?.[scope][key]?.requiredWhen ?? {});
    const met = conditions.map(([other, condition]) => [
      other,
      condition === 'given' ? (rest[other] ?? { secret: 'env:GIVEN' }) : condition[0],
    ]);
    const { problems } = checkFields(descriptor, scope, { ...rest, ...Object.fromEntries(met) }, [scope]);
    ok(
      problems.some(({ path }) => formatPath(path) === `${scope}.${key}`),
      `without ${scope} field ${key} no problem is reported, although other fields require it`,
    );
  }
}

/** Required fields: each one that every alternative has, and all alternatives together. */
function requiredFields({ fields }: Descriptor): readonly (readonly [FieldScope, readonly string[]])[] {
  return (['admin', 'user'] as const).flatMap((scope) => {
    const sets = fields?.required[scope] ?? [];
    const inEvery = (sets[0] ?? []).filter((key) => sets.every((set) => set.includes(key)));
    const inAny = sets.some((set) => set.length === 0) ? [] : [...new Set(sets.flat())];
    return [...inEvery.map((key) => [key]), ...(inAny.length === 0 ? [] : [inAny])].map(
      (keys) => [scope, keys] as const,
    );
  });
}
