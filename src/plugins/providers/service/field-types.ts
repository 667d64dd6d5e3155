// Generated from service.json by npm run build.
import type { Json } from '../../../model/json.js';

/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface ServiceFields {
  readonly folder: string;
  readonly resources: readonly Json[];
  readonly programs: Readonly<Record<string, readonly string[]>>;
  readonly resource?: string;
}
