import { z } from 'zod';
import type { Json } from '../model/json.js';

/**
 * Any JSON; what it may be is known to the plugin that declares the field. Values are plain before a schema
 * sees them.
 */
export const anyJsonSchema = z.custom<Json>((value) => value !== undefined);

/** Values for a plugin's fields. */
export const fieldsSchema = z
  .record(z.string().min(1).max(100), anyJsonSchema)
  .meta({
    title: 'Fields',
    description:
      'Values for the fields that the plugin declares. A secret is a reference: {secret: "env:NAME"}.',
  });
