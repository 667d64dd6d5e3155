// Generated from local.json by npm run build.
/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface LocalFields {
  readonly endpoint: string;
  readonly insecure: boolean;
  readonly apiKey: string;
  readonly publicKeys?: readonly string[];
}
