import { PluginError } from '../contract.js';

/** Why a lookup rejects the request; undefined if it does not, or may succeed later. */
export async function refusalOf(lookUp: () => unknown): Promise<string | undefined> {
  try {
    await lookUp();
    return undefined;
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    if (error.kind === 'Invalid') return error.message;
    if (error.kind === 'NotReady') return undefined;
    throw error;
  }
}
