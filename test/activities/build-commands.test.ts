import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { buildFile } from '../../src/activities/image/build-file.js';
import { checkCommandVariables } from '../../src/activities/image/check-variables.js';
import type { MachineCall } from '../../src/activities/task-call.js';
import { formatProblem } from '../../src/schema/problem.js';
import { newFolder } from '../harness/folder.js';

// Promise: build-variables
describe('the environment of a build command', () => {
  let folder: string;
  let mark: string;

  beforeEach(() => {
    folder = newFolder();
    mark = join(folder, 'mark');
    mkdirSync(join(folder, 'images'));
  });

  const script = 'set -x; mkdir files; echo "$SUITE" >files/suite; tar -cf "$HEDDLE_OUTPUT.tar" files';
  const build = async (
    environment: Readonly<Record<string, string>>,
    variables: Readonly<Record<string, string>>,
  ): Promise<unknown> => {
    const call = {
      request: {
        order: {
          image: { name: 'web', revision: '1' },
          command: { name: 'pack', environment, formats: ['tar'] },
          token: 'token',
        },
      },
      parts: {
        builder: {
          folder: join(folder, 'images'),
          builds: 1,
          commands: { pack: { run: ['/bin/sh', '-c', script], variables } },
          name: 'builder',
        },
      },
      attempt: {
        at: () => undefined,
        signal: new AbortController().signal,
        detach: new AbortController().signal,
        output: { print: () => Promise.resolve() },
      },
    } as unknown as MachineCall;
    return buildFile(call);
  };

  const attacks: readonly (readonly [name: string, value: () => string])[] = [
    ['TAR_OPTIONS', () => `--checkpoint=1 --checkpoint-action=exec=touch\\ ${mark}`],
    ['PS4', () => `$(touch ${mark})`],
  ];

  it.each(attacks)('gets no variable that heddle.yaml does not name: %s', async (name, value) => {
    await expect(build({ [name]: value() }, { SUITE: '[a-z]+' })).rejects.toThrow(
      new RegExp(`^command pack for web@1: ${name} is not a variable of the command: .*builder\\.commands`),
    );
    expect(existsSync(mark)).toBe(false);
  });

  it.each(attacks)('has variables whose patterns its values match as a whole: %s', async (name, value) => {
    await expect(build({ [name]: value() }, { [name]: '[a-z]+' })).rejects.toThrow(
      `${name} does not match [a-z]+`,
    );
    expect(existsSync(mark)).toBe(false);
  });

  it.each(attacks)(
    'is what makes the attack work once heddle.yaml allows any value: %s',
    async (name, value) => {
      await build({ [name]: value() }, { [name]: '(?s).*' });
      expect(existsSync(mark)).toBe(true);
    },
  );

  it('has the variables that heddle.yaml names, and those of Heddle', async () => {
    await expect(build({ SUITE: 'trixie' }, { SUITE: '[a-z]+' })).resolves.toMatchObject({
      files: [{ format: 'tar' }],
    });
    expect(readFileSync(join(folder, 'images', 'web-1.tar'), 'latin1')).toContain('trixie');
  });

  it('is checked with the place in image.yaml when an image is applied', () => {
    const command = { run: ['/bin/make'], variables: { SUITE: '[a-z]+', SIZE_MB: '[0-9]{3,5}' } };
    const check = (environment: Readonly<Record<string, string>>): readonly string[] =>
      checkCommandVariables('debian', command, environment).map(formatProblem);
    expect(check({ SUITE: 'trixie', SIZE_MB: '1536' })).toEqual([]);
    expect(check({ SUIT: 'trixie', SIZE_MB: '1536\n', SUITE: '-x' })).toEqual([
      expect.stringMatching(/^command\.environment\.SUIT: .*debian accepts SUITE, SIZE_MB/),
      expect.stringMatching(/command\.environment\.SIZE_MB: .*does not match \[0-9\]\{3,5\}/),
      expect.stringMatching(/command\.environment\.SUITE: .*does not match \[a-z\]\+/),
    ]);
    expect(check({ constructor: 'x' })).toHaveLength(1);
  });
});
