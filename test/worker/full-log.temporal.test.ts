import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { spawnSync } from 'node:child_process';
import { describe, expect, inject, it } from 'vitest';

const program = `
  const { openLog } = await import(process.argv[1]);
  const log = openLog({ site: 'lab' });
  for (let line = 0; line < 1000; line += 1) log.info({ error: new Error('the reason') }, 'a line');
  await new Promise((resolve) => setTimeout(resolve, 200));
  log.info('one more');
  process.stderr.write('alive');
`;

const run = (redirected: string) =>
  spawnSync(
    'sh',
    [
      '-c',
      `exec "$@" ${redirected}`,
      'sh',
      process.execPath,
      '--input-type=module',
      '-e',
      program,
      pathToFileURL(join(inject('distPath'), 'worker/open-log.js')).href,
    ],
    { encoding: 'utf8' },
  );

describe('the log of a worker', () => {
  it('loses lines while the disk is full, and the worker continues', async () => {
    expect(run('>/dev/full')).toMatchObject({ status: 0, stderr: 'alive' });
  });

  it('names the site and the reason of an error in each line', async () => {
    const { stdout } = run('');
    const [first = ''] = stdout.split('\n');
    expect(JSON.parse(first)).toMatchObject({ site: 'lab', reason: 'the reason' });
  });
});
