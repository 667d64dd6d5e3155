/** How to reach a node; secrets are resolved. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  /** Private key, PEM. */
  readonly key?: string;
  /** Socket of an SSH agent on the worker. */
  readonly agent?: string;
  /** The account says `hostKeys: pin`: a password may be sent to a host whose key is not known yet. */
  readonly pinsWithPassword?: boolean;
  /** The keys that its SSH server may show, each `<type> <base64>`. */
  readonly hostKey?: string | readonly string[];
  /** The host that the connection goes through; its key is known. */
  readonly jump?: Omit<NodeAddress, 'jump' | 'hostKey' | 'pinsWithPassword'> & {
    readonly hostKey: string | readonly string[];
  };
}
