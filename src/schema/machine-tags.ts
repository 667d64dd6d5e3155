import { z } from 'zod';
import { isLabel, labelRule, maxLabels } from '../model/cluster/labels.js';
import { groupRule, isGroupName } from '../model/machine/selection.js';

/** The name of a group of machines. */
export const groupSchema = z
  .string()
  .refine(isGroupName, { error: 'is no name of a group' })
  .meta({ description: groupRule });

/** Labels of machines, or those that a machine must have. */
export const labelsSchema = z
  .record(z.string(), z.string())
  .refine(
    (labels) =>
      Object.keys(labels).length <= maxLabels &&
      Object.entries(labels).every(([key, value]) => isLabel(key, value)),
    { error: `has a label that is none, or more than ${maxLabels}` },
  )
  .meta({ description: labelRule });
