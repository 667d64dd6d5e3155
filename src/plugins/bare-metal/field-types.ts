// Generated from real-machines.fields.json by npm run build.
import type { Json, JsonObject } from '../../model/json.js';

/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface RealMachineFields {
  readonly machines?: readonly Json[];
  readonly controllers?: JsonObject;
  readonly inventory?: string;
  readonly groups?: readonly string[];
  readonly imager: Readonly<Record<string, readonly string[]>>;
  readonly imaging: JsonObject;
  readonly erase: readonly Json[];
  readonly settleSeconds: number;
  readonly shutDownSeconds: number;
  readonly readEveryMs: number;
  readonly machine?: string;
}
