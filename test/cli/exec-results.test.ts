import { expect, it } from 'vitest';
import { describeCut } from '../../src/cli/cluster/exec-results.js';

const result = { node: 'app-1', exitCode: 0, stdout: 'end', stderr: '', cut: true as const };

it('output of which only the end is here names where its beginning is, and promises no more than is kept', () => {
  const log = 'uid/app-1/7.1.-.EXEC.1.log';
  expect(describeCut('web', 'app-1', { ...result, log })).toBe(
    `only the end of the output of app-1; its first 64 MiB: heddle logs web app-1 --action EXEC, where ${log} is stored`,
  );
  expect(describeCut('web', 'app-1', { ...result, log, cutAt: 67_108_864 })).toBe(
    'only the end of the output of app-1, which exceeded the limit of a log; its first 67108864 bytes with their times: ' +
      'heddle logs web app-1 --action EXEC; its beginning and end are also on the node, in .heddle/runs of the home ' +
      'folder, until the run folder is removed',
  );
});
