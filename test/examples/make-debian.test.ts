import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkCommandVariables } from '../../src/activities/image/check-variables.js';
import { readConfigFile } from '../../src/schema/read-config.js';
import { newFolder } from '../harness/folder.js';

const examples = join(import.meta.dirname, '../../examples/images');

describe('the example command make-debian', () => {
  let folder: string;
  let called: string;
  beforeEach(() => {
    folder = newFolder();
    called = join(folder, 'called');
    // Stand-ins that note each of their words on a line of its own. Packages are the last that is looked at.
    writeStub('debootstrap', 'mkdir -p "$3/etc/initramfs-tools" "$3/usr/sbin"');
    writeStub('chroot', 'exit 42');
  });

  function writeStub(name: string, then: string): void {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' ${name} "$@" >>'${called}'\n${then}\n`);
    chmodSync(file, 0o700);
  }

  const run = (
    environment: Readonly<Record<string, string>>,
  ): { readonly status: number | null; readonly stderr: string; readonly words: readonly string[] } => {
    const { status, stderr } = spawnSync('/bin/sh', [join(examples, 'make-debian')], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        PATH: `${folder}:/usr/bin:/bin`,
        HEDDLE_OUTPUT: join(folder, 'image'),
        HEDDLE_FORMATS: 'qcow2 raw',
        ...environment,
      },
    });
    return { status, stderr, words: existsSync(called) ? readFileSync(called, 'utf8').split('\n') : [] };
  };

  const faultsByPattern = (environment: Readonly<Record<string, string>>): number => {
    const file = join(examples, 'heddle.yaml');
    const reading = readConfigFile(readFileSync(file, 'utf8'), file);
    const command = reading.ok ? reading.config.builder?.commands?.['debian'] : undefined;
    if (command === undefined) throw new Error('the example has no command debian');
    return checkCommandVariables('debian', command, environment).length;
  };

  it('passes good values on, each as words of its own', () => {
    const good = {
      SUITE: 'trixie',
      MIRROR: 'https://deb.example.org:8080/debian/',
      PACKAGES: 'g++ libc6-dev',
      SIZE_MB: '2048',
    };
    const { status, words } = run(good);
    expect(status).toBe(42);
    expect(words.slice(0, 3)).toEqual(['debootstrap', '--variant=minbase', 'trixie']);
    expect(words[4]).toBe(good.MIRROR);
    expect(words.slice(-3)).toEqual(['g++', 'libc6-dev', '']);
    expect(faultsByPattern(good)).toBe(0);
  });

  // Promise: build-words
  it.each([
    ['SUITE', '--foreign'],
    ['SUITE', '../../../../tmp/script'],
    ['SUITE', 'trixie\n'],
    ['MIRROR', '--keyring=/tmp/ring'],
    ['MIRROR', 'copy:///etc'],
    ['MIRROR', 'http://mirror --no-check-gpg'],
    ['PACKAGES', 'curl -oDPkg::Pre-Invoke::=touch'],
    ['PACKAGES', '/tmp/own.deb'],
    ['PACKAGES', '*'],
    ['SIZE_MB', '-1'],
    ['SIZE_MB', 'x[$(touch called)]'],
    ['SIZE_MB', '0x7fffffff'],
  ])('refuses values that are options, paths or code, and so do its patterns: %s=%j', (name, value) => {
    expect(run({ [name]: value })).toEqual({
      status: 2,
      stderr: expect.stringMatching(new RegExp(`^make-debian: ${name} is not `)),
      words: [],
    });
    expect(faultsByPattern({ [name]: value })).toBe(1);
  });

  it('refuses formats that qemu-img may take for more than a file', () => {
    expect(run({ HEDDLE_FORMATS: 'raw nbd' })).toMatchObject({ status: 2, words: [] });
  });
});
