import { cp, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Another build of the product, in a folder of its own. */
export interface BuildCopy {
  /** Takes the place of the product's own in a test's stack. */
  readonly distPath: string;
  remove(): Promise<void>;
}

/**
 * A build in which every activity is scheduled another way. The one function that schedules them is wrapped,
 * not edited, so that the test does not depend on how the workflows are written.
 * @param before statements that run before each activity; `patched` and `sleep` are there.
 */
export async function buildWith(distPath: string, before: string): Promise<BuildCopy> {
  const copy = await copyBuild(distPath);
  const dist = copy.distPath;
  const scheduling = join(dist, 'workflows', 'schedule.js');
  await rename(scheduling, join(dist, 'workflows', 'schedule-before.js'));
  await writeFile(
    scheduling,
    `
    import { patched, sleep } from '@temporalio/workflow';
    import { scheduleTask as scheduleTaskBefore } from './schedule-before.js';
    export * from './schedule-before.js';
    export async function scheduleTask(...args) {
      ${before}
      return scheduleTaskBefore(...args);
    }
    void patched; void sleep;
  `,
  );
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(dist, 'workflows', 'index.js'),
    workflowInterceptorModules: [join(dist, 'workflows', 'interceptors.js')],
    failureConverterPath: join(dist, 'secrets', 'failure-converter.js'),
    logger: new DefaultLogger('ERROR', () => undefined),
  });
  await writeFile(join(dist, 'workflow-bundle.js'), code);
  return copy;
}

/** The same sources as another build: workers are told apart by the digest of their bundle. */
export async function buildAgain(distPath: string): Promise<BuildCopy> {
  const copy = await copyBuild(distPath);
  const bundle = join(copy.distPath, 'workflow-bundle.js');
  await writeFile(bundle, `// another build\n${await readFile(bundle, 'utf8')}`);
  return copy;
}

async function copyBuild(distPath: string): Promise<BuildCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-build-'));
  const dist = join(folder, 'dist');
  const root = resolve(import.meta.dirname, '../../..');
  // Other tests compile programs there meanwhile.
  await cp(distPath, dist, { recursive: true, filter: (path) => !basename(path).startsWith('.programs-') });
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return { distPath: dist, remove: () => rm(folder, { recursive: true, force: true }) };
}
