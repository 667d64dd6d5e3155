/**
 * Heddle's workers as part of a program of your own: `heddle/worker`.
 *
 *     const config = loadConfig({});
 *     const prepared = await prepareWorkers({ config, keyRing: keyRingOf(config), secretSources: secretSourcesOf(config), log });
 *     const [core, ...others] = prepared.workers;
 */
export { createActivities, type CoreParts } from '../activities/table.js';
export { loadConfig, type Config } from '../config/index.js';
export { keyRingOf } from './key-ring.js';
export { secretSourcesOf } from '../secrets/reference.js';
export { prepareWorkers, type HeddleWorkerOptions, type PreparedWorkers } from './worker.js';
