import type { Client } from '@temporalio/client';
import { searchAttributes } from '../model/names.js';
import type { ServerFeatures } from '../model/state.js';

/** An unregistered search attribute fails the start of a workflow, so what the server has decides what is used. */
export async function readFeatures(temporal: Client): Promise<ServerFeatures> {
  try {
    const { customAttributes } = await temporal.withDeadline(Date.now() + 2_000, () =>
      temporal.connection.operatorService.listSearchAttributes({ namespace: temporal.options.namespace }));
    const registered = Object.keys(customAttributes ?? {});
    return { searchAttributes: Object.values(searchAttributes).every((name) => registered.includes(name)) };
  } catch {
    // Asking may be forbidden where registering is: then clusters do without.
    return { searchAttributes: false };
  }
}
