import { fileURLToPath } from 'node:url';

/** The folder of Heddle's own package.json. */
export const packageFolder = fileURLToPath(new URL('../../', import.meta.url));
