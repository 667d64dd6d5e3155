// Generated from libvirt.json by npm run build.
/** The fields as the engine gives them to the plugin: checked, with defaults. */
export interface LibvirtFields {
  readonly uri: string;
  readonly insecure: boolean;
  readonly program: string;
  readonly pool: string;
  readonly network: string;
  readonly bridge?: string;
  readonly hypervisor: 'kvm' | 'qemu' | 'test';
  readonly arch: string;
  readonly addressFrom: 'lease' | 'agent' | 'arp' | 'fixed';
  readonly addresses: Readonly<Record<string, string>>;
  readonly cloudInit: boolean;
  readonly hostKeySecret?: string;
  readonly privateKey?: string | { readonly secret: string };
  readonly publicKeys: readonly string[];
  readonly user: string;
  readonly sshPort: number;
  readonly libraries: readonly string[];
  readonly settleSeconds: number;
  readonly shutDownSeconds: number;
  readonly readEveryMs: number;
  readonly userData?: string;
}
