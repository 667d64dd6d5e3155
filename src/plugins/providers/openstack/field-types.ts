// Generated from openstack.json by npm run build.
/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface OpenStackFields {
  readonly authUrl: string;
  readonly insecure: boolean;
  readonly applicationCredentialId?: string;
  readonly applicationCredentialSecret?: string;
  readonly username?: string;
  readonly password?: string;
  readonly project?: string;
  readonly userDomain: string;
  readonly projectDomain: string;
  readonly region?: string;
  readonly interface: 'public' | 'internal' | 'admin';
  readonly gateway: boolean;
  readonly hostKeySecret?: string;
  readonly privateKey?: string | { readonly secret: string };
  readonly keyName?: string;
  readonly user: string;
  readonly sshPort: number;
  readonly networks?: readonly string[];
  readonly securityGroups?: readonly string[];
  readonly zones?: readonly string[];
  readonly floatingNetwork?: string;
  readonly publicKeys?: readonly string[];
  readonly userData?: string;
  readonly configDrive?: boolean;
  readonly rootVolumeGb?: number;
}
