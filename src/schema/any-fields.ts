import { z } from 'zod';
import type { Json } from '../model/json.js';

/**
 * Any JSON. The plugin that declares the field validates the value. Values are plain JSON
 * before a schema reads them.
 */
export const anyJsonSchema = z.custom<Json>((value) => value !== undefined);

/** Values for a plugin's fields. */
export const fieldsSchema = z
  .record(z.string().min(1).max(100), anyJsonSchema)
  .meta({
    title: 'Fields',
    description:
      'Values for the fields that the plugin declares. Secrets are references: {secret: "env:NAME"}.',
  });
