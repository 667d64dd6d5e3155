import {} from 'vitest';
import { openProxy, type ApiProxy } from '../../../src/testing/proxy.js';
import { startStack, type Stack, type StackOptions } from '../stack.js';

export interface Proxied {
  readonly stack: Stack;
  readonly proxy: ApiProxy;
  /** Of the provider accounts; others may be added before a worker starts. */
  readonly accounts: Record<string, object>;
  readonly stop: () => Promise<void>;
}

/** Provider `parts` reaches the machine service by a proxy; its machines have several parts. */
export async function startProxied(config: StackOptions['config'] = {}): Promise<Proxied> {
  const accounts: Record<string, object> = {};
  const stack = await startStack({ accounts, config });
  const proxy = await openProxy(stack.service.endpoint);
  const apiKey = { secret: `file:${stack.service.apiKeyFile}` };
  accounts['parts'] = { type: 'example', fields: { endpoint: proxy.endpoint, apiKey } };
  const stop = async (): Promise<void> => {
    await proxy.close();
    await stack.stop();
  };
  return { stack, proxy, accounts, stop };
}
