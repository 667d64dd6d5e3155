import type { JsonObject } from '../../model/json.js';
import { poolAccount } from '../../model/names.js';
import { fieldsSchema } from '../any-fields.js';
import { foreignNameSchema, simpleNameSchema } from '../names.js';

/** Name of hardware and image if none is given. */
const defaultName = 'default';

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

export interface Placement {
  readonly provider?: string;
  readonly pool?: string;
  readonly label?: string;
  readonly hardware?: string;
  readonly image?: string;
  readonly fields?: JsonObject;
}

/** Says of keys that do not go together. */
export function checkPlacement(
  { provider, pool, label, hardware, image }: Placement,
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

/**
 * A request to a pool waits until it can be served, so another request gains nothing; with an alternative
 * the wait is short. In seconds.
 */
const poolPatience = 24 * 60 * 60;

/** Writes out short forms and defaults of a group. Its alternatives inherit what they leave out. */
export function normaliseGroup<Group extends WrittenGroup>({
  provider,
  pool,
  label,
  hardware,
  image,
  fields,
  alternatives,
  confirmWithin,
  ...group
}: Group): Omit<Group, keyof WrittenGroup> & NormalGroup {
  const own: Placement = { provider, pool, label, hardware, image, fields };
  return {
    ...group,
    ...normalisePlacement(own),
    confirmWithin:
      confirmWithin ?? (pool !== undefined && alternatives === undefined ? poolPatience : undefined),
    alternatives: alternatives?.map((choice) =>
      // A pool and a provider account have nothing in common to inherit.
      normalisePlacement(pool === undefined && choice.pool === undefined ? { ...own, ...choice } : choice),
    ),
  };
}

export interface WrittenGroup extends Placement {
  readonly confirmWithin?: number;
  readonly alternatives?: readonly Placement[];
}

/** Nodes of a pool come from an account that every worker has; the label takes the place of the hardware. */
function normalisePlacement({
  provider = '',
  pool,
  label = defaultName,
  hardware = defaultName,
  image = defaultName,
  fields = {},
}: Placement): NormalPlacement {
  return pool === undefined
    ? { provider, hardware, image, fields }
    : { provider: poolAccount, hardware: label, image: defaultName, fields: { ...fields, pool } };
}

export interface NormalGroup extends NormalPlacement {
  readonly confirmWithin?: number;
  readonly alternatives?: readonly NormalPlacement[];
}

interface NormalPlacement {
  readonly provider: string;
  readonly hardware: string;
  readonly image: string;
  readonly fields: JsonObject;
}
