export declare const secret: string;
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly token: string;
}
export declare function call(method: string, url: string, body?: unknown, token?: string): Promise<Answer>;
export declare function prepareProject(admin: {
  readonly authUrl: string;
  readonly username: string;
  readonly password: string;
  readonly project: string;
}): Promise<{
  readonly services: Readonly<Record<'keystone' | 'nova' | 'glance' | 'neutron', string>>;
  readonly token: string;
  readonly projectId: string;
  readonly credentialId: string;
  readonly flavorId: string;
  readonly imageId: string;
  readonly networkId: string;
  remove(): Promise<void>;
}>;
