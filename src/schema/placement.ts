import type { JsonObject } from '../model/json.js';
import { poolAccount } from '../model/names.js';
import type { PlacementChoice } from '../model/cluster/spec.js';
import { fieldsSchema } from './any-fields.js';
import { foreignNameSchema, simpleNameSchema } from './names.js';

/** Name of hardware and image if none is given. */
export const defaultName = 'default';

/** Where machines come from, as people write it: an account, or a pool. */
export const placementKeys = {
  provider: simpleNameSchema
    .optional()
    .meta({
      title: 'Provider',
      description: "Name of a provider account from the workers' heddle.yaml; or give pool and label.",
    }),
  pool: simpleNameSchema
    .optional()
    .meta({
      title: 'Pool',
      description:
        'Name of a pool that the nodes are allocated from; with label, in place of provider, hardware and image.',
    }),
  label: simpleNameSchema.optional().meta({ title: 'Label', description: 'Which nodes of the pool.' }),
  hardware: foreignNameSchema
    .optional()
    .meta({ title: 'Hardware', description: 'Size of the machines, as the provider account names it.' }),
  image: foreignNameSchema
    .optional()
    .meta({ title: 'Image', description: 'Image of the machines, as the provider account names it.' }),
  fields: fieldsSchema.optional(),
};

export interface WrittenPlacement {
  readonly provider?: string | undefined;
  readonly pool?: string | undefined;
  readonly label?: string | undefined;
  readonly hardware?: string | undefined;
  readonly image?: string | undefined;
  readonly fields?: JsonObject | undefined;
}

/** Says of keys that do not go together. */
export function checkPlacement(
  { provider, pool, label, hardware, image }: WrittenPlacement,
  context: {
    readonly addIssue: (issue: {
      readonly code: 'custom';
      readonly path: string[];
      readonly message: string;
    }) => void;
  },
): void {
  const say = (key: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [key], message });
  if (pool === undefined) {
    if (label !== undefined) say('label', 'names nodes of a pool, and no pool is named');
    else if (provider === undefined) say('provider', 'is missing');
    return;
  }
  if (label === undefined) say('label', 'is missing');
  if (provider !== undefined)
    say('provider', 'stands beside a pool: nodes come from the one or from the other');
  if (hardware !== undefined)
    say('hardware', 'stands beside a pool, whose label says of what size nodes are');
  if (image !== undefined) say('image', 'stands beside a pool, whose label says of which image nodes are');
}

/** Nodes of a pool come by an account that every worker has; the label stands in the place of the size. */
export function normalisePlacement({
  provider,
  pool,
  label,
  hardware,
  image,
  fields,
}: WrittenPlacement): Required<PlacementChoice> {
  if (pool !== undefined)
    return {
      provider: poolAccount,
      hardware: label ?? defaultName,
      image: defaultName,
      fields: { ...fields, pool },
    };
  return {
    provider: provider ?? '',
    hardware: hardware ?? defaultName,
    image: image ?? defaultName,
    fields: fields ?? {},
  };
}
