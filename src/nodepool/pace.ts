import { warningAt, type Path, type Problem } from '../schema/problem.js';
import type { Taking } from './taking.js';
import type { NodepoolProvider } from './written.js';

/** The limits of the account: set if the account is imported, otherwise reported. */
export function importPace(
  taking: Taking,
  provider: NodepoolProvider,
  account: string,
  path: Path,
): readonly Problem[] {
  // Existing machines have no such limits.
  if (provider.driver === 'static') return [];
  const { 'max-concurrency': concurrency = -1 } = provider;
  const limits = {
    ...rateOf(provider),
    ...(concurrency >= 1 ? { concurrency: Math.min(10_000, Math.round(concurrency)) } : {}),
  };
  const made = taking.accounts[account];
  if (made !== undefined && Object.keys(limits).length > 0) taking.accounts[account] = { ...made, limits };
  const say = made === undefined ? 'In heddle.yaml' : 'Written';
  const place = `providers.${account}.limits`;
  return [
    ...('ratePerSecond' in limits
      ? [
          warningAt(
            [...path, 'rate'],
            'is a limit of the account, for CREATE and DELETE only',
            `${say}: ${place}.ratePerSecond: ${limits.ratePerSecond}.`,
          ),
        ]
      : []),
    ...('concurrency' in limits
      ? [
          warningAt(
            [...path, 'max-concurrency'],
            'is a limit of the account',
            `${say}: ${place}.concurrency: ${limits.concurrency}.`,
          ),
        ]
      : []),
    ...(concurrency === 0
      ? [
          warningAt(
            [...path, 'max-concurrency'],
            'disables the provider, which an account does not support',
            'Set limits: {nodes: 0} in its provider pools.',
          ),
        ]
      : []),
  ];
}

/** Drivers disagree on the unit: `aws` has requests a second, the others seconds between requests. */
function rateOf({ driver, rate = 0 }: NodepoolProvider): { readonly ratePerSecond?: number } {
  if (rate <= 0) return {};
  const each = driver === 'aws' ? rate : 1 / rate;
  return { ratePerSecond: Math.min(10_000, Math.max(0.001, Number(each.toPrecision(4)))) };
}
