#!/usr/bin/env node
import { existsSync } from 'node:fs';
import * as modules from 'node:module';

const main = new URL('../dist/cli-bundle/main.js', import.meta.url);

if (existsSync(main)) {
  // Node 22 and later keep compiled code between runs.
  if ('enableCompileCache' in modules && typeof modules.enableCompileCache === 'function')
    modules.enableCompileCache();
  await import(main.href);
} else {
  process.stderr.write(
    'heddle: this copy is not built yet. Run `node tools/prepare.mjs` in its folder (`npm run demo` and `npm test` do so too).\n',
  );
  process.exitCode = 1;
}
