import { z } from 'zod';

const nameRule = 'Lower-case letters, digits and hyphens; a letter or digit first and last';
const pluginNameRule =
  'Lower-case letters, digits, hyphens and underscores; a letter or digit first and last; at most 63 characters.';

function nameSchema(longest: number): z.ZodString {
  const right = `${nameRule}; at most ${longest} characters.`;
  return z
    .string()
    .regex(new RegExp(`^[a-z0-9]([a-z0-9-]{0,${longest - 2}}[a-z0-9])?$`), { error: right })
    .meta({ description: right });
}

/** Leaves room for the group and the node's number in hostnames of at most 63 characters. */
export const clusterNameSchema = nameSchema(40);
/** Names of groups, services, provider accounts, sites, hardware. */
export const simpleNameSchema = nameSchema(63);
/** Ids of nodes: a group's or a label's name, and a number. */
export const nodeIdSchema = nameSchema(80);
/** Names of plugins; those of the predecessor contain underscores. */
export const pluginNameSchema = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$/, { error: pluginNameRule })
  .meta({ description: pluginNameRule });
/** Names of other systems, such as images and flavors. No control characters. */
export const foreignNameSchema = z
  .string()
  .min(1)
  .max(255)
  .regex(/^\P{Cc}+$/u, { error: 'Must be text without control characters.' });

const variableSchema = z
  .string()
  .regex(/^[A-Za-z_]\w*$/, { error: 'Must be a name of an environment variable.' });
/** An environment variable that images set. */
export const variableNameSchema = variableSchema.max(64);
/** An environment variable that may be passed to a program. */
export const passedVariableSchema = variableSchema.regex(/^(?!(?:HEDDLE|TEMPORAL)_)/i, {
  error: 'HEDDLE_ and TEMPORAL_ variables are never passed on.',
});
