import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { runHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';

test('a plugin from `heddle plugin new` passes the whole suite, types included, after npm install and npm test', async () => {
  const cwd = newFolder();
  try {
    for (const words of [
      ['provider', 'my-cloud'],
      ['automator', 'my-tool'],
    ] as const) {
      expect(
        await runHeddle(['plugin', 'new', ...words], { distPath: inject('distPath'), cwd }),
      ).toMatchObject({ code: 0 });
    }
    // There is no registry in this test: the compiler is the one of this repository.
    const manifest = join(cwd, 'package.json');
    const typescript = join(import.meta.dirname, '../../node_modules/typescript');
    const written = readFileSync(manifest, 'utf8');
    expect(written).toMatch(/"typescript": "\d/);
    writeFileSync(
      manifest,
      written.replace(/("typescript": )"[^"]*"/, `$1${JSON.stringify(`file:${typescript}`)}`),
    );
    const npm = (...words: readonly string[]) => spawnSync('npm', words, { cwd, encoding: 'utf8' });
    expect(npm('install', '--offline', '--no-audit', '--no-fund')).toMatchObject({ status: 0 });
    const { stdout, status } = npm('test');
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/ fail 0\n/) });
    // As many as the suites have for plugins that can do what those of the templates can.
    expect(Number(/ pass (\d+)\n/.exec(stdout)?.[1])).toBeGreaterThanOrEqual(45);
    // A provider that always says "running" does not.
    const code = join(cwd, 'providers/my-cloud/my-cloud.ts');
    const honest = readFileSync(code, 'utf8');
    const liar = honest.replace("?? 'starting'", "?? 'running'");
    expect(liar).not.toBe(honest);
    writeFileSync(code, liar);
    const words = ['--test', '--test-name-pattern', '^states:'];
    const refused = spawnSync(process.execPath, words, { cwd, encoding: 'utf8' });
    expect(refused.stdout).toContain('find does not show the state that the machine has');
    expect(refused.status).toBe(1);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
});
