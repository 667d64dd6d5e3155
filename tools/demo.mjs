// @ts-check
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, runMain } from './environment.mjs';
import { getTemporal } from './get-temporal.mjs';
import { prepare } from './prepare.mjs';

// In this process, so that signals need no passing on. The demo finds the server's binary as the product
// does.
await runMain(async () => {
  await prepare();
  process.env.TEMPORAL_CLI = await getTemporal();
  const demo = join(root, 'dist', 'demo', 'main.js');
  if (!existsSync(demo)) throw new Error('this copy holds no demo (src/demo/main.ts)');
  const { main } = await import(pathToFileURL(demo).href);
  process.exitCode = await main(process.argv.slice(2));
});
