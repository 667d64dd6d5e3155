import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';

/** A package of one module, as pip installs it. */
const makeWheel = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/heddle_sample-1.0.0-py3-none-any.whl", "w") as wheel:
    info = "heddle_sample-1.0.0.dist-info/"
    wheel.writestr("heddle_sample.py", "answer = 42\\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: heddle-sample\\nVersion: 1.0.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", "heddle_sample.py,,\\n" + info + "METADATA,,\\n" + info + "WHEEL,,\\n" + info + "RECORD,,\\n")
`;

const program = `#!/usr/bin/env python3
import glob, json, os, site
for packages in glob.glob(os.environ["HEDDLE_PYTHON"] + "/lib/python3.*/site-packages"):
    site.addsitedir(packages)
try:
    import heddle_sample
    print(json.dumps({"status": 0, "result": {"providerid": str(heddle_sample.answer)}}))
except ImportError as missing:
    print(json.dumps({"status": 1, "error": {"kind": "Invalid", "message": str(missing)}}))
`;

const descriptor = {
  name: 'sample',
  type: 'provider',
  command: ['./sample.py'],
  version: '1.0.0',
  description: 'A sample',
  python: './requirements.txt',
};

describe('heddle plugins setup', () => {
  let folder: string;
  let python: string;
  let requirements: string;
  beforeAll(async () => {
    folder = newFolder();
    python = join(folder, 'data', 'python');
    const plugin = join(folder, 'plugins', 'providers', 'sample');
    await mkdir(plugin, { recursive: true, mode: 0o755 });
    await writeFile(join(plugin, 'sample.json'), JSON.stringify(descriptor));
    await writeFile(join(plugin, 'sample.py'), program);
    await chmod(join(plugin, 'sample.py'), 0o755);
    await writeFile(join(folder, 'heddle.yaml'), 'plugins: [./plugins]\n');
    await mkdir(join(folder, 'wheels'));
    await writeFile(join(folder, 'task.json'), JSON.stringify({ taskName: 'CREATE' }));
    execFileSync('python3', ['-c', makeWheel, join(folder, 'wheels')]);
    requirements = join(plugin, 'requirements.txt');
    await require(await hashOfWheel());
  });

  const run = (words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
    runHeddle(words, {
      distPath: inject('distPath'),
      cwd: folder,
      env: {
        HEDDLE_DATA_FOLDER: join(folder, 'data'),
        PIP_NO_INDEX: '1',
        PIP_FIND_LINKS: join(folder, 'wheels'),
        ...env,
      },
    });

  const hashOfWheel = async (): Promise<string> => {
    const wheel = await readFile(join(folder, 'wheels', 'heddle_sample-1.0.0-py3-none-any.whl'));
    return createHash('sha256').update(wheel).digest('hex');
  };
  const require = (hash: string): Promise<void> =>
    writeFile(requirements, `# The sample.\nheddle-sample==1.0.0 \\\n    --hash=sha256:${hash}\n`);

  it('refuses a package that has another hash than its requirements file, or none', async () => {
    await require('0'.repeat(64));
    expect(await run(['plugins', 'setup', 'sample'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('pip cannot install the packages'),
    });
    await writeFile(requirements, 'heddle-sample==1.0.0\n');
    expect(await run(['plugins', 'setup', 'sample'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /requirements\.txt: heddle-sample==1\.0\.0 has no version and hash.*uv pip compile/,
      ),
    });
    await rm(requirements);
    expect(await run(['plugins', 'setup', 'sample'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`plugin sample has no file ${requirements}`),
    });
    await require(await hashOfWheel());
  });

  it('reports what pip says when a package cannot be found, and leaves nothing behind', async () => {
    expect(await run(['plugins', 'setup', 'sample'], { PIP_FIND_LINKS: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /python3: pip cannot install the packages: ERROR: No matching distribution found for heddle-sample/,
      ),
    });
    expect(await readdir(python)).toEqual([]);
    expect((await run(['plugins', 'run', 'sample', 'task.json'])).stdout).toContain('No module named');
  });

  it('installs the packages where the program finds them, and begins an interrupted installation again', async () => {
    // What a killed command leaves: no process has this number.
    await mkdir(join(python, 'sample.new-999999999'), { recursive: true });
    await mkdir(join(python, 'sample.new-999999999-old'));
    // The replaced environment of a command that still runs, which removes it itself.
    const others = `sample.new-${process.pid}-old`;
    await mkdir(join(python, others));
    await mkdir(join(python, 'sample'), { recursive: true });
    const { code, stdout } = await run(['plugins', 'setup', 'sample', '--json']);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 0,
      plugin: 'sample',
      folder: join(python, 'sample'),
      packages: ['heddle-sample==1.0.0'],
      changed: true,
    });
    expect(await readdir(python)).toEqual(['sample', others]);
    const task = await run(['plugins', 'run', 'sample', 'task.json']);
    expect(JSON.parse(task.stdout)).toMatchObject({ status: 0, result: { providerid: '42' } });
  });

  it('does nothing when it is complete', async () => {
    const again = await run(['plugins', 'setup', 'sample', '--json'], { PIP_FIND_LINKS: '/nowhere' });
    expect(JSON.parse(again.stdout)).toMatchObject({ changed: false });
  });

  it('explains a missing Python and a plugin without Python packages', async () => {
    const bin = join(folder, 'bin');
    await mkdir(bin);
    await symlink('/bin/sh', join(bin, 'sh'));
    expect(await run(['plugins', 'setup', 'libcloud'], { PATH: bin })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('python3 is not on PATH'),
    });
    await writeFile(
      join(bin, 'python3'),
      '#!/bin/sh\ncase $3 in *ensurepip*) echo "No module named ensurepip" >&2; exit 1;; esac\necho 3.11.2 True\n',
      { mode: 0o755 },
    );
    expect(await run(['plugins', 'setup', 'libcloud'], { PATH: bin })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/apt-get install python3-venv: No module named ensurepip/),
    });
    expect(await run(['plugins', 'setup', 'local'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('names no Python packages'),
    });
    expect(existsSync(join(python, 'libcloud'))).toBe(false);
  });
});
