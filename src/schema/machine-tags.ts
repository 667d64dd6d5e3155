import { z } from 'zod';
import { isLabel, labelRule, maxLabels } from '../model/cluster/labels.js';
import { groupRule, isGroupName } from '../model/machine/selection.js';

/** The name of a group of machines. */
export const groupSchema = z
  .string()
  .refine(isGroupName, { error: 'is not a valid group name' })
  .meta({ description: groupRule });

/** Labels of machines, or labels that a machine must have. */
export const labelsSchema = z
  .record(z.string(), z.string())
  .refine(
    (labels) =>
      Object.keys(labels).length <= maxLabels &&
      Object.entries(labels).every(([key, value]) => isLabel(key, value)),
    { error: `has an invalid label, or more than ${maxLabels} labels` },
  )
  .meta({ description: labelRule });
