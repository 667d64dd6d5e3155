import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('the package contains the product with its locked dependencies, no state of the build, and no source maps without sources', () => {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files }] = JSON.parse(packed) as [{ readonly files: readonly { readonly path: string }[] }];
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      'bin/heddle.mjs',
      'dist/workflow-bundle.js',
      'dist/client/index.d.ts',
      'npm-shrinkwrap.json',
    ]),
  );
  expect(paths.filter((path) => /\.map$|\/\.|tsbuildinfo/.test(path))).toEqual([]);
});
