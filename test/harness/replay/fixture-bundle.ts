import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Workflow bundles that are made in a test. */
export interface Bundles {
  /** The caller removes it. */
  readonly folder: string;
  /** Path of the bundle as it was made. */
  readonly present: string;
  /** Path of another build: the same, with one text in another's place. */
  change(from: string, to: string): Promise<string>;
}

/**
 * Bundles a workflow `cluster` with this body. `one`, `two` and `three` are activities, `sdk` is what it may
 * use of Temporal.
 */
export async function makeBundles(body: string, distPath: string): Promise<Bundles> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-bundles-'));
  await symlink(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'));
  const source = join(folder, 'workflows.js');
  await writeFile(
    source,
    `
    import { condition, patched, proxyActivities, sleep } from '@temporalio/workflow';
    const sdk = { condition, patched, sleep };
    const { one, two, three } = proxyActivities({ startToCloseTimeout: '1 minute' });
    export async function cluster(input) { ${body} }
    export const unused = [sdk, three];
  `,
  );
  const { code } = await bundleWorkflowCode({
    workflowsPath: source,
    failureConverterPath: join(distPath, 'secrets', 'failure-converter.js'),
    logger: new DefaultLogger('ERROR', () => undefined),
  });
  let made = 0;
  const write = async (text: string): Promise<string> => {
    made += 1;
    const path = join(folder, `bundle-${made}.js`);
    await writeFile(path, text);
    return path;
  };
  const present = await write(code);
  return {
    folder,
    present,
    async change(from, to) {
      const text = await readFile(present, 'utf8');
      const changed = text.replaceAll(from, () => to);
      if (changed === text) throw new Error(`the bundle holds no ${from}`);
      return write(changed);
    },
  };
}
