import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.js';

const folder = join(loadConfig({ cwd: '/' }).cacheFolder, 'actionlint');
const [program] = existsSync(folder) ? readdirSync(folder) : [];

test.skipIf(program === undefined)('actionlint finds no mistake in the workflows', () => {
  const words = ['-no-color', '-shellcheck=', '-pyflakes='];
  const output = execFileSync(join(folder, program ?? ''), words, {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
  });
  expect(output).toBe('');
});
