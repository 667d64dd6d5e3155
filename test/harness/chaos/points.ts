import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Points at the edges of activities, armed by files that the workers look for. */
export interface Points {
  arm(moment: 'before' | 'after', activity: string): Promise<ArmedPoint>;
  /** A folder with a worker program that meets these points, to be started in place of the build's. */
  readonly distPath: string;
}

export interface ArmedPoint {
  /** Process id of the worker that waits there, once one does. */
  met(): Promise<number | undefined>;
  /** Lets it go on, or forgets the point. */
  release(): Promise<void>;
}

export async function openPoints(parent: string, distPath: string): Promise<Points> {
  const folder = join(parent, 'points');
  const program = join(parent, 'holding-worker');
  await mkdir(folder);
  await mkdir(join(program, 'worker'), { recursive: true });
  await writeFile(join(program, 'package.json'), '{"type": "module"}');
  await writeFile(
    join(program, 'worker/main.js'),
    [
      `import { holdAtPoints } from ${JSON.stringify(fileURLToPath(new URL('hold-at-points.mjs', import.meta.url)))};`,
      `holdAtPoints(${JSON.stringify(folder)});`,
      `await import(${JSON.stringify(join(distPath, 'worker/main.js'))});`,
      '',
    ].join('\n'),
  );
  let count = 0;
  return {
    distPath: program,
    async arm(moment, activity) {
      count += 1;
      const number = String(count);
      const armed = join(folder, `armed.${number}.${moment}.${activity}`);
      await writeFile(armed, '');
      const metFile = async (): Promise<string | undefined> =>
        (await readdir(folder)).find((name) => name.startsWith(`met.${number}.`));
      return {
        met: async () => {
          const name = await metFile();
          return name === undefined ? undefined : Number(name.split('.')[2]);
        },
        release: async () => {
          await rm(armed, { force: true });
          const name = await metFile();
          if (name !== undefined) await rm(join(folder, name), { force: true });
        },
      };
    },
  };
}
