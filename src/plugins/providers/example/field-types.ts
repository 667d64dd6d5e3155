// Generated from example.json by npm run build.
/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface ExampleFields {
  readonly endpoint: string;
  readonly insecure: boolean;
  readonly apiKey: string;
  readonly volumeGb: number;
}
