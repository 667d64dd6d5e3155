// Generated from pool.json by npm run build.
/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface PoolFields {
  readonly pool?: string | { readonly secret: string };
  readonly tenant?: string;
  readonly priority?: number;
  readonly providerPool?: string;
}
