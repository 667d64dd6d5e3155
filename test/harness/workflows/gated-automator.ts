import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A plugin folder with an automator whose BOOTSTRAP runs a script, and whose actions do nothing. The script
 * is part of the plugin: BOOTSTRAP belongs to no service, so no fields reach it.
 */
export async function writeGatedAutomator(folder: string, script: string): Promise<void> {
  const plugin = join(folder, 'automators', 'gated');
  await mkdir(plugin, { recursive: true, mode: 0o755 });
  await writeFile(
    join(plugin, 'gated.json'),
    JSON.stringify({
      name: 'gated',
      type: 'automator',
      entry: './gated.mjs',
      class: 'Gated',
      version: '1.0.0',
      description: 'Waits in BOOTSTRAP',
      prepares: 'users',
    }),
  );
  await writeFile(
    join(plugin, 'gated.mjs'),
    `
    export class Gated {
      constructor(context) { this.shell = context.shell; }
      async bootstrap() { await this.shell.run({ text: ${JSON.stringify(script)} }); }
      async install() {}
      async configure() {}
      async init() {}
      async start() {}
      async stop() {}
      async remove() {}
    }
  `,
  );
}
