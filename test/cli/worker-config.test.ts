import { describe, expect, it } from 'vitest';
import { workerConfigFile } from '../../src/cli/system/worker.js';

const dev = { configFile: '/home/heddle.yaml', workerConfig: '/data/dev-worker.yaml' };
const other = '/home/far.yaml';

describe('the configuration of `heddle worker` beside `heddle dev`', () => {
  it.each([
    ['is that of its worker if no file is named', dev.configFile, {}, undefined, dev.workerConfig],
    ['is the file that HEDDLE_CONFIG names', other, { HEDDLE_CONFIG: 'far.yaml' }, undefined, other],
    [
      'is that of its worker if HEDDLE_CONFIG names the file that `heddle dev` reads',
      dev.configFile,
      { HEDDLE_CONFIG: 'heddle.yaml' },
      undefined,
      dev.workerConfig,
    ],
    ['is the file that --config names', other, { HEDDLE_CONFIG: 'heddle.yaml' }, 'far.yaml', 'far.yaml'],
  ])('%s', (_what, file, environment, config, expected) => {
    expect(workerConfigFile({ file, environment }, { config }, dev)).toBe(expected);
  });
});

it('`heddle worker` uses the configuration of its command without `heddle dev`', () => {
  expect(workerConfigFile({ file: other, environment: {} }, {}, undefined)).toBe(other);
});
