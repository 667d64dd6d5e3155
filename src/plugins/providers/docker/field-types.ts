// Generated from docker.json by npm run build.
/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface DockerFields {
  readonly endpoint: string;
  readonly insecure: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly privateKey?: string | { readonly secret: string };
  readonly publicKeys: readonly string[];
  readonly user: string;
  readonly network?: string;
  readonly reachBy: 'network' | 'port';
  readonly address: string;
  readonly init: boolean;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string | number | boolean>>;
}
