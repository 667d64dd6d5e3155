import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allCommands } from '../harness/cli/all-commands.js';
import { newFolder } from '../harness/folder.js';

const root = join(import.meta.dirname, '..', '..');
const units = readdirSync(join(root, 'deploy/systemd'));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = read('docs/guides/systemd.md');
const noSystemd = spawnSync('systemd-analyze', ['--version']).status !== 0;

/** Values of a directive, in the order of a unit. */
const valuesOf = (unit: string, directive: string): readonly string[] =>
  [...read(`deploy/systemd/${unit}`).matchAll(new RegExp(`^${directive}=(.*)$`, 'gm'))].map(
    ([, value = '']) => value,
  );

/** A system that has these units, their programs, and nothing else. */
function makeSystem(change: (text: string) => string = (text) => text): string {
  const system = newFolder();
  const write = (path: string, text: string, mode?: number): void => {
    mkdirSync(dirname(join(system, path)), { recursive: true });
    writeFileSync(join(system, path), text, { mode });
  };
  for (const unit of units) write(`etc/systemd/system/${unit}`, change(read(`deploy/systemd/${unit}`)));
  for (const target of ['sysinit', 'basic', 'multi-user', 'network-online', 'shutdown'])
    write(`etc/systemd/system/${target}.target`, '[Unit]\n');
  for (const program of ['opt/heddle/bin/heddle', 'usr/bin/node']) write(program, '#!/bin/sh\n', 0o755);
  return system;
}

const verify = (system: string) =>
  spawnSync('systemd-analyze', ['verify', `--root=${system}`, ...units], { encoding: 'utf8' });

describe.skipIf(noSystemd)('the units of deploy/systemd', () => {
  test('pass systemd-analyze verify', () => {
    expect(verify(makeSystem())).toMatchObject({ status: 0, stderr: '' });
  });

  test('are refused with a misspelt directive', () => {
    const { stderr } = verify(makeSystem((text) => text.replace('ProtectSystem=', 'ProtectSytem=')));
    expect(stderr).toContain("Unknown key 'ProtectSytem'");
  });

  test.each(units)('expose little of the system: %s', (unit) => {
    const args = ['security', '--offline=true', `--root=${makeSystem()}`, '--threshold=25', unit];
    expect(spawnSync('systemd-analyze', args).status).toBe(0);
  });
});

describe('the units of deploy/systemd', () => {
  test('start a command, and a program of the package', () => {
    const [words = ''] = valuesOf('heddle-worker.service', 'ExecStart');
    expect(allCommands.has(words.replace('/opt/heddle/bin/heddle ', ''))).toBe(true);
    const [codec = ''] = valuesOf('heddle-codec.service', 'ExecStart');
    const [, program = '', options = ''] = /node_modules\/heddle\/(\S+)(.*)$/.exec(codec) ?? [];
    const { files } = JSON.parse(read('package.json')) as { readonly files: readonly string[] };
    expect(files).toContain(program);
    // The guide copies the units from there.
    expect(files).toEqual(expect.arrayContaining(['deploy/systemd', 'deploy/kubernetes']));
    expect(existsSync(join(root, program))).toBe(true);
    for (const [, option = ''] of options.matchAll(/--([a-z-]+)=/g)) expect(read(program)).toContain(option);
  });

  test('let programs that outlive the worker run on, with their files', () => {
    expect(valuesOf('heddle-worker.service', 'KillMode')).toEqual(['process']);
    expect(valuesOf('heddle-worker.service', 'PrivateTmp')).toEqual([]);
  });

  test('read files that the guide creates', () => {
    const named = units.flatMap((unit) => [
      ...valuesOf(unit, 'EnvironmentFile'),
      ...valuesOf(unit, 'Environment').flatMap((text) => /HEDDLE_CONFIG=(\S+)/.exec(text)?.[1] ?? []),
    ]);
    expect(named.length).toBe(4);
    expect(named.filter((file) => !page.includes(file))).toEqual([]);
  });
});
