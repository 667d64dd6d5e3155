interface Family {
  type?: string;
  help?: string;
  readonly samples: Set<string>;
  readonly labels: Set<string>;
}

const baseUnits = ['amperes', 'bytes', 'celsius', 'grams', 'joules', 'kelvin', 'meters', 'seconds', 'volts'];
const otherUnits: Readonly<Record<string, string>> = {
  minutes: 'seconds',
  hours: 'seconds',
  days: 'seconds',
  weeks: 'seconds',
  kelvins: 'kelvin',
  fahrenheit: 'celsius',
  rankine: 'celsius',
  inches: 'meters',
  yards: 'meters',
  miles: 'meters',
  bits: 'bytes',
  calories: 'joules',
  pounds: 'grams',
  ounces: 'grams',
};
const prefixes =
  'pico nano micro milli centi deci deca hecto kilo kibi mega mibi giga gibi tera tebi peta pebi'.split(' ');
const abbreviations = new Set('s ms us ns sec b kb mb gb tb pb m h d'.split(' '));
const types = ['counter', 'gauge', 'summary', 'histogram'];

/**
 * What `promtool check metrics` says of the text of a /metrics endpoint: its rules (promlint of
 * client_golang), written again because promtool is a Go program.
 */
export function lintMetrics(text: string): readonly string[] {
  const families = readFamilies(text);
  return [...families].flatMap(([name, family]) =>
    problemsOf(name, family).map((what) => `${name}: ${what}`),
  );
}

function readFamilies(text: string): ReadonlyMap<string, Family> {
  const families = new Map<string, Family>();
  const familyOf = (name: string): Family => {
    const family = families.get(name) ?? { samples: new Set(), labels: new Set() };
    families.set(name, family);
    return family;
  };
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const comment = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line);
    if (comment !== null) {
      const [, what, name = '', rest] = comment;
      familyOf(name)[what === 'HELP' ? 'help' : 'type'] = rest;
      continue;
    }
    const sample = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line);
    if (sample === null) throw new Error(`is not a line of Prometheus metrics: ${line}`);
    const [, name = '', labels = ''] = sample;
    const whole = name.replace(/_(bucket|sum|count)$/, '');
    const isPart = ['histogram', 'summary'].includes(families.get(whole)?.type ?? '');
    const family = familyOf(isPart ? whole : name);
    family.samples.add(line.slice(0, line.lastIndexOf(' ')));
    for (const [, label = ''] of labels.matchAll(/(?:^|,)([A-Za-z_]\w*)="(?:[^"\\]|\\.)*"/g))
      if (!(isPart && label === 'le')) family.labels.add(label);
  }
  return families;
}

function problemsOf(name: string, { type = 'untyped', help = '', labels }: Family): readonly string[] {
  const words = name.split('_');
  const isHistogram = type === 'histogram' || type === 'summary';
  const camelCase = /[a-z][A-Z]/;
  const checks: readonly (readonly [boolean, string])[] = [
    [help === '' || help === name, 'no help text'],
    [type === 'untyped', 'no type'],
    [type === 'counter' && !name.endsWith('_total'), 'counter metrics should have "_total" suffix'],
    [type !== 'counter' && name.endsWith('_total'), 'non-counter metrics should not have "_total" suffix'],
    [!isHistogram && /_(bucket|count|sum)$/.test(name), 'has a suffix of histograms'],
    [!isHistogram && (labels.has('le') || labels.has('quantile')), 'has a label of histograms'],
    [name.includes(':'), 'metric names should not contain ":"'],
    [camelCase.test(name), 'metric names should be written in snake_case'],
    [types.some((word) => words.slice(1).includes(word)), 'metric name should not include its type'],
    [
      words.slice(1).some((word) => abbreviations.has(word)),
      'metric names should not contain abbreviated units',
    ],
  ];
  return [
    ...checks.flatMap(([isWrong, what]) => (isWrong ? [what] : [])),
    ...unitProblems(words),
    ...[...labels].filter((label) => camelCase.test(label)).map((label) => `label ${label} is in camelCase`),
  ];
}

function unitProblems(words: readonly string[]): readonly string[] {
  for (const word of words) {
    if (baseUnits.includes(word)) return [];
    const prefix = prefixes.find((one) => word.startsWith(one)) ?? '';
    const unit = word.slice(prefix.length);
    const base = otherUnits[unit] ?? (baseUnits.includes(unit) ? unit : undefined);
    if (base !== undefined) return [`use base unit "${base}" instead of "${word}"`];
  }
  return [];
}
