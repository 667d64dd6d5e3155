import { describe, expect, it } from 'vitest';
import type { ProviderWithAbilities, RegisteredProvider } from '../../src/plugins/registered.js';
import { callInTime } from '../../src/plugins/provider-call.js';

describe('a call of a provider', () => {
  it('ends at its deadline while it waits for the limit of its account', async () => {
    const hour = 3_600_000;
    const plugin = {
      descriptor: { callDeadlineMs: hour },
      create: (context: object) => context as ProviderWithAbilities,
    } as unknown as RegisteredProvider;
    const context = { task: { provider: { name: 'slow' } }, signal: new AbortController().signal };
    const waits = callInTime(
      plugin,
      context as never,
      async (provider) => (provider as unknown as { calls: { take(): Promise<void> } }).calls.take(),
      {
        deadlineMs: 20,
        calls: (signal) => ({
          take: () =>
            new Promise((granted, refused) => {
              const timer = setTimeout(granted, hour);
              signal.addEventListener('abort', () => {
                clearTimeout(timer);
                refused(signal.reason as Error);
              });
            }),
        }),
      },
    );
    await expect(waits).rejects.toMatchObject({
      kind: 'Retryable',
      message: 'provider slow did not answer within 20 ms',
    });
  });
});
