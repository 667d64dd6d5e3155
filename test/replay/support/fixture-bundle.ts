import { mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** A folder for workflow bundles that are made in a test. The caller removes it. */
export async function bundleFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-bundles-'));
  await symlink(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Bundles a workflow `cluster` with this body; `one`, `two` and `three` are activities. Gives the bundle's path. */
export async function bundle(folder: string, name: string, body: string, { type = 'cluster', distPath }: { readonly type?: string; readonly distPath: string }): Promise<string> {
  const source = join(folder, `${name}.js`);
  await writeFile(source, `
    import { condition, patched, proxyActivities, sleep } from '@temporalio/workflow';
    const { one, two, three } = proxyActivities({ startToCloseTimeout: '1 minute' });
    void condition; void patched; void sleep; void three;
    export async function ${type}(input) { ${body} }
  `);
  const { code } = await bundleWorkflowCode({
    workflowsPath: source, failureConverterPath: join(distPath, 'secrets', 'failure-converter.js'), logger: new DefaultLogger('ERROR', () => undefined),
  });
  const path = join(folder, `${name}.bundle.js`);
  await writeFile(path, code);
  return path;
}
