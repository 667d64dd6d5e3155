// Generated from static.json by npm run build.
import type { Json } from '../../../model/json.js';

/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface StaticFields {
  readonly machines?: readonly Json[];
  readonly inventory?: string;
  readonly groups?: readonly string[];
  readonly slots: number;
  readonly liveness: 'none' | 'ssh';
  readonly user: string;
  readonly port: number;
  readonly keyFile?: string;
  readonly agent?: string | { readonly secret: string };
  readonly knownHosts?: string;
  readonly programs: Readonly<Record<string, readonly string[]>>;
  readonly machine?: string;
}
