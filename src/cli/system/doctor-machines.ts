import type { Config } from '../../config/index.js';
import { loadConfig } from '../../config/index.js';
import type { DevRecord } from './dev-record.js';
import { fail, ok, type Finding } from './finding.js';

/**
 * What the workers of this machine are configured with: beside `heddle dev`, its machine service is among the
 * providers.
 */
export function configOfWorkers(config: Config, dev: DevRecord | undefined): Config {
  return dev === undefined ? config : loadConfig({ configFlag: dev.workerConfig, env: config.environment });
}

/** Whether the machine services of `local` providers answer. */
export async function checkMachines({ providers }: Config): Promise<readonly Finding[]> {
  const local = Object.entries(providers).filter(([, { type }]) => type === 'local');
  return Promise.all(
    local.map(async ([name, { fields }]): Promise<Finding> => {
      const check = `machines (${name})`;
      const { endpoint } = fields;
      if (typeof endpoint !== 'string')
        return ok(check, 'the address of its machine service is a secret reference, which workers resolve');
      try {
        const response = await fetch(new URL('/v1/health', endpoint), { signal: AbortSignal.timeout(3_000) });
        const { kind } = (await response.json()) as { readonly kind?: string };
        return response.ok
          ? ok(check, `${endpoint}, machines are of kind ${kind ?? 'unknown'}`)
          : fail(check, `${endpoint} answers with status ${response.status}`);
      } catch (error) {
        const { cause } = error instanceof Error ? error : {};
        return fail(
          check,
          `no machine service answers at ${endpoint}: ${cause instanceof Error ? cause.message : String(error)}`,
          'heddle dev',
        );
      }
    }),
  );
}
