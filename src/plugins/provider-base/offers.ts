import { PluginError } from '../contract.js';

/** Why a look-up refuses what was asked for; undefined where it does not, and where it may not do so later. */
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
