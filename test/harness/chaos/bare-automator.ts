import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Gives a plugin folder with the automator `bare`: it runs scripts as a plain command, which nothing keeps
 * from running again.
 */
export async function writeBareAutomator(parent: string): Promise<string> {
  const folder = join(parent, 'bare');
  const plugin = join(folder, 'automators', 'bare');
  await mkdir(plugin, { recursive: true, mode: 0o755 });
  await writeFile(
    join(plugin, 'bare.json'),
    JSON.stringify({
      name: 'bare',
      type: 'automator',
      entry: './bare.mjs',
      class: 'Bare',
      version: '1.0.0',
      description: 'Runs scripts without keeping that they ran',
      prepares: 'users',
      fields: {
        user: {
          script: { title: 'Script', type: 'text' },
          environment: { title: 'Environment', type: 'map' },
        },
      },
    }),
  );
  await writeFile(join(plugin, 'bare.mjs'), source);
  return folder;
}

const source = `
export class Bare {
  constructor({ shell, task }) {
    this.shell = shell;
    this.task = task;
  }

  async bootstrap() {}
  async install(_auth, script) { await this.run(script); }
  async configure(_auth, script) { await this.run(script); }
  async init(_auth, script) { await this.run(script); }
  async start(_auth, script) { await this.run(script); }
  async stop(_auth, script) { await this.run(script); }
  async remove(_auth, script) { await this.run(script); }

  async run(script) {
    const environment = { ...this.task.service.action.fields.environment, RUN: this.task.taskId + '.1' };
    const words = Object.entries(environment).map(([name, value]) => name + '=' + value);
    const { exitCode, stderr } = await this.shell.exec(['env', ...words, 'sh', '-c', script]);
    if (exitCode !== 0) throw Object.assign(new Error('ended with ' + exitCode + ': ' + stderr), { name: 'PluginError', kind: 'ScriptFailed' });
  }
}
`;
