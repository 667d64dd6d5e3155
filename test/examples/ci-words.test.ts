import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { newFolder } from '../harness/folder.js';

const examples = join(import.meta.dirname, '../../examples/ci');

// Promise: build-words
describe('the example scripts of CI systems', () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
    writeFileSync(join(folder, 'heddle'), '#!/bin/sh\nprintf "%s\\n" "$@" >words\n', { mode: 0o700 });
  });

  const run = (
    script: string,
    environment: Readonly<Record<string, string>>,
  ): { readonly status: number | null; readonly words: readonly string[] } => {
    const { status } = spawnSync('/bin/sh', [join(examples, script)], {
      cwd: folder,
      env: {
        PATH: `${folder}:/usr/bin:/bin`,
        BUILD_FAILURE_EXIT_CODE: '1',
        SYSTEM_FAILURE_EXIT_CODE: '2',
        CUSTOM_ENV_CI_JOB_ID: '71',
        BUILDKITE_JOB_ID: '71',
        BUILDKITE_BUILD_CHECKOUT_PATH: '/checkout',
        BUILDKITE_COMMAND: 'make',
        ...environment,
      },
    });
    const words = join(folder, 'words');
    return { status, words: existsSync(words) ? readFileSync(words, 'utf8').split('\n') : [] };
  };

  it.each([
    ['gitlab/prepare.sh', { CUSTOM_ENV_HEDDLE_LABEL: 'large' }, 'large'],
    ['gitlab/cleanup.sh', { CUSTOM_ENV_HEDDLE_POOL: 'other' }, 'other'],
    ['buildkite/hooks/command', { HEDDLE_LABEL: 'large' }, 'large'],
  ])('pass on what a job chooses: %s', (script, environment, word) => {
    const { status, words } = run(script, environment);
    expect(status).toBe(0);
    expect(words).toContain(word);
  });

  it.each([
    ['gitlab/prepare.sh', { CUSTOM_ENV_HEDDLE_LABEL: '--config=/tmp/heddle.yaml' }, 1],
    ['gitlab/prepare.sh', { CUSTOM_ENV_HEDDLE_POOL: '--config=/tmp/heddle.yaml' }, 1],
    ['gitlab/cleanup.sh', { CUSTOM_ENV_HEDDLE_POOL: '--config=/tmp/heddle.yaml' }, 0],
    ['buildkite/hooks/command', { HEDDLE_LABEL: '--config=/tmp/heddle.yaml' }, 1],
  ])('give heddle no option that a job chooses: %s with %j', (script, environment, status) => {
    expect(run(script, environment)).toEqual({ status, words: [] });
  });
});
