/** The largest number of hosts in one pattern; more is a mistake. */
const mostHosts = 10_000;

const range = /\[(\d+|[A-Za-z]):(\d+|[A-Za-z])(?::(\d+))?\]/;

/**
 * The hosts of a pattern such as `web[01:03]-[a:b].example.com`, both ends included, with as many digits as
 * the first end.
 * @throws Error with a text.
 */
export function expandRanges(pattern: string): readonly string[] {
  const found = range.exec(pattern);
  if (found === null) {
    if (/^[^[\]]*$/.test(pattern)) return [pattern];
    throw new Error(`${pattern} has a malformed range; examples: [01:20], [a:f], [1:9:2]`);
  }
  const [whole, first = '', last = '', step = '1'] = found;
  const tails = expandRanges(pattern.slice(found.index + whole.length));
  const head = pattern.slice(0, found.index);
  const steps = stepsOf(first, last, Number(step));
  if (steps === undefined)
    throw new Error(
      `${whole} in ${pattern} is not a valid range: it must ascend, from number to number or from letter to letter`,
    );
  if (steps.length * tails.length > mostHosts)
    throw new Error(`${pattern} expands to more than ${mostHosts} hosts`);
  return steps.flatMap((one) => tails.map((tail) => `${head}${one}${tail}`));
}

function stepsOf(first: string, last: string, step: number): readonly string[] | undefined {
  const areNumbers = /^\d/.test(first);
  if (areNumbers !== /^\d/.test(last) || step < 1) return undefined;
  const [from, to] = areNumbers ? [Number(first), Number(last)] : [first.charCodeAt(0), last.charCodeAt(0)];
  if (from > to || to - from > mostHosts * step) return undefined;
  const width = areNumbers && first.startsWith('0') ? first.length : 0;
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => {
    const value = from + index * step;
    return areNumbers ? String(value).padStart(width, '0') : String.fromCharCode(value);
  });
}
