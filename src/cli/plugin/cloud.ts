import { startFakeCloud, type FakeCloudOptions } from '../../testing/fake-cloud.js';
import type { CommonOptions } from '../configuration.js';
import { catchInterrupt } from '../interrupts.js';
import { createOutput } from '../output.js';

interface CloudOptions
  extends CommonOptions, Pick<FakeCloudOptions, 'pageSize' | 'refuseEvery' | 'loseEvery'> {
  /** In ms. */
  readonly lag?: number;
}

/** Runs a fake cloud until it is interrupted. Its machines end with it. */
export async function cloud({ lag, ...options }: CloudOptions): Promise<number> {
  const output = createOutput(options);
  const { signal, happened, release } = catchInterrupt();
  try {
    const fake = await startFakeCloud({ ...options, lagMs: lag });
    try {
      const fields = { endpoint: fake.endpoint, apiKey: fake.apiKey, flavor: 'tiny', image: 'host' };
      output.document({ ...fields, pid: process.pid });
      for (const [name, value] of Object.entries(fields)) output.line(`${name.padEnd(8)}  ${value}`);
      output.line('runs until Ctrl-C, which ends its machines');
      if (!signal.aborted) await happened.catch(() => undefined);
      const { refused, lost } = fake.failures();
      output.note(`${refused} calls were refused, ${lost} answers lost`);
      return 0;
    } finally {
      await fake.close();
    }
  } finally {
    release();
  }
}
