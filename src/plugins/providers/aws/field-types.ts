// Generated from aws.json by npm run build.
/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface AwsFields {
  readonly region: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
  readonly endpoint?: string;
  readonly insecure: boolean;
  readonly hostKeySecret?: string;
  readonly privateKey?: string | { readonly secret: string };
  readonly keyName?: string;
  readonly user: string;
  readonly sshPort: number;
  readonly subnets?: readonly string[];
  readonly zones?: readonly string[];
  readonly securityGroups?: readonly string[];
  readonly publicAddress?: boolean;
  readonly reachBy: 'public' | 'private';
  readonly imageArchitecture: 'x86_64' | 'arm64';
  readonly instanceProfile?: string;
  readonly publicKeys?: readonly string[];
  readonly userData?: string;
  readonly rootVolumeGb?: number;
  readonly rootVolumeType?: 'gp3' | 'gp2' | 'io1' | 'io2' | 'st1' | 'sc1' | 'standard';
  readonly rootVolumeEncrypted?: boolean;
  readonly spot?: boolean;
  readonly spotMaxPrice?: string;
}
