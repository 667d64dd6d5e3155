import { z } from 'zod';
import type { FieldFault } from '../../../model/field-fault.js';
import type { ServiceFields } from './field-types.js';
import {
  faultsOfNamed,
  nameOfLength,
  parseFields,
  requireUniqueNames,
  text,
} from '../../provider-base/fields.js';

const resourceSchema = z.strictObject({
  name: nameOfLength(63),
  flavor: text.optional(),
  environment: z
    .record(
      z
        .string()
        .regex(/^(?!HEDDLE_)[A-Za-z_]\w*$/, {
          error: 'must be the name of an environment variable that is not reserved by Heddle',
        }),
      z.union([z.string(), z.number()], { error: 'must be text or a number' }).transform(String),
    )
    .default({}),
});
export type Resource = z.output<typeof resourceSchema>;

const resourcesSchema = z.array(resourceSchema);
const requiredPrograms = ['reach', 'current', 'capture', 'load'] as const;

/** What is wrong with the resources and the set of programs. */
export function faultsOfAccount({ resources, programs }: Partial<ServiceFields>): readonly FieldFault[] {
  const lacking =
    programs === undefined ? [] : requiredPrograms.filter((name) => programs[name] === undefined);
  return [
    ...(resources === undefined ? [] : faultsOfNamed(resourcesSchema, 'resources', resources)),
    ...lacking.map((name) => ({ path: ['programs', name], wrong: 'is missing' })),
  ];
}

/**
 * @throws PluginError Invalid that names every wrong place; values are not quoted, for they may be secret.
 */
export function readResources({ resources: written }: ServiceFields, provider: string): readonly Resource[] {
  const resources = parseFields(resourcesSchema, written, `resources of provider ${provider}`);
  requireUniqueNames(resources, provider);
  return resources;
}
