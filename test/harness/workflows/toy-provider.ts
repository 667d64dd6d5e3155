import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

interface ToyProvider {
  /** Of its file, account type and descriptor. */
  readonly name: string;
  /** A module that exports the class. */
  readonly code: string;
  readonly class: string;
  readonly description: string;
  /** More of its descriptor. */
  readonly more?: object;
}

/** Where the plugins of a stack lie that has `plugins: ['./plugins']` in its configuration. */
export async function writeProvider(
  stackFolder: string,
  { name, code, class: className, description, more }: ToyProvider,
): Promise<void> {
  const folder = join(stackFolder, 'plugins', 'providers', name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.mjs`), code);
  const descriptor = {
    name,
    type: 'provider',
    entry: `./${name}.mjs`,
    class: className,
    version: '1.0.0',
    description,
    idempotency: 'token',
    ...more,
  };
  await writeFile(join(folder, `${name}.json`), JSON.stringify(descriptor));
}
