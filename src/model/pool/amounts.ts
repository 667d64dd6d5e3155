/**
 * How much of what: `nodes`, `cores`, `memory` (MiB), or another word that a provider counts. What is not
 * named is not limited, or not used.
 */
export type Amounts = Readonly<Record<string, number>>;

export function plus(one: Amounts, other: Amounts): Amounts {
  return combine(one, other, 1);
}

export function minus(one: Amounts, other: Amounts): Amounts {
  return combine(one, other, -1);
}

export function times(one: Amounts, count: number): Amounts {
  return Object.fromEntries(Object.entries(one).map(([key, amount]) => [key, amount * count]));
}

/** What is over the limit, by how much; empty where all fits. */
export function excess(use: Amounts, limit: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(use).flatMap(([key, amount]) => {
      const most = limit[key];
      return most === undefined || amount <= most ? [] : [[key, amount - most]];
    }),
  );
}

export function isNothing(amounts: Amounts): boolean {
  return Object.values(amounts).every((amount) => amount <= 0);
}

/** The larger of both, by key. */
export function most(one: Amounts, other: Amounts): Amounts {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...keys].map((key) => [key, Math.max(one[key] ?? 0, other[key] ?? 0)]));
}

/** `1 node, 12 cores`. */
export function amountsText(amounts: Amounts): string {
  return Object.entries(amounts)
    .map(([key, amount]) => `${amount} ${amount === 1 ? key.replace(/s$/, '') : key}`)
    .join(', ');
}

/** `12 cores needed, 10 allowed`. */
export function overText(use: Amounts, limit: Amounts): string {
  return Object.keys(excess(use, limit))
    .map((key) => `${amountsText({ [key]: use[key] ?? 0 })} needed, ${limit[key] ?? 0} allowed`)
    .join('; ');
}

/** Adds to a sum in place, because sums over all nodes of a pool are frequent. */
export function addTo(sum: Record<string, number>, amounts: Amounts): void {
  for (const key in amounts) sum[key] = (sum[key] ?? 0) + (amounts[key] ?? 0);
}

function combine(one: Amounts, other: Amounts, sign: 1 | -1): Amounts {
  const sum: Record<string, number> = { ...one };
  for (const [key, amount] of Object.entries(other)) sum[key] = (sum[key] ?? 0) + sign * amount;
  return sum;
}
