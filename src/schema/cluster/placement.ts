import type { JsonObject } from '../../model/json.js';
import { poolAccount } from '../../model/names.js';
import { fieldsSchema } from '../any-fields.js';
import { foreignNameSchema, simpleNameSchema } from '../names.js';

/** Default name of hardware and image. */
const defaultName = 'default';

/** The source of machines as the user writes it: an account, or a pool. */
export const placementKeys = {
  provider: simpleNameSchema
    .optional()
    .meta({
      title: 'Provider',
      description:
        "Name of a provider account in the workers' heddle.yaml. Alternatively, set pool and label.",
    }),
  pool: simpleNameSchema
    .optional()
    .meta({
      title: 'Pool',
      description:
        'Name of the pool that allocates the nodes. Requires label, and replaces provider, hardware and image.',
    }),
  label: simpleNameSchema.optional().meta({ title: 'Label', description: 'Label of the nodes in the pool.' }),
  hardware: foreignNameSchema.optional().meta({
    title: 'Hardware',

    description: 'Size of the machines, as the provider account names it. Default: "default".',
  }),
  image: foreignNameSchema.optional().meta({
    title: 'Image',

    description: 'Image of the machines, as the provider account names it. Default: "default".',
  }),
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

/** Reports keys that cannot be combined. */
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
    if (label !== undefined) say('label', 'requires pool');
    else if (provider === undefined) say('provider', 'is missing');
    return;
  }
  if (label === undefined) say('label', 'is missing');
  if (provider !== undefined) say('provider', 'cannot be combined with pool: nodes come from one of the two');
  if (hardware !== undefined)
    say('hardware', 'cannot be combined with pool: its label determines the size of the nodes');
  if (image !== undefined)
    say('image', 'cannot be combined with pool: its label determines the image of the nodes');
}

/**
 * Default `confirmWithin` of nodes of a pool, in seconds. A request waits in the pool's queue, so
 * a repeated request gains nothing. With alternatives the shorter default of other groups applies.
 */
const poolPatience = 24 * 60 * 60;

/** Expands shorthands and defaults of a group. Its alternatives inherit omitted keys. */
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

/** Nodes of a pool come from an account that every worker has; the label is passed as hardware. */
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
