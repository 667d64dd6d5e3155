import { pino } from 'pino';
import { expect, it } from 'vitest';
import { parseOptions } from '../../src/local/options.js';
import { startService } from '../../src/local/service.js';
import { temporaryFolder } from '../harness/local/service.js';

it('a second stop of the machine service waits for the end of the first', async () => {
  const options = parseOptions(['--data', temporaryFolder(), '--kind', 'directory']);
  const service = await startService(options, pino({ level: 'silent' }));
  let isStopped = false;
  const first = service.stop().then(() => (isStopped = true));
  await service.stop();
  expect(isStopped).toBe(true);
  await first;
});
