import type { JsonObject } from '../model/json.js';
import type { Descriptor } from '../schema/descriptor.js';
import { checkFields, listedFields, type AllowedValues } from '../schema/fields.js';
import {
  errorAt,
  hasErrors,
  placeProblems,
  ProblemsError,
  type Path,
  type Place,
  type Problem,
} from '../schema/problem.js';
import { suggest } from '../schema/suggest.js';
import type { Registry } from './registry.js';

interface Account extends Settings {
  readonly type: string;
  readonly limits?: { readonly callsPerSecond?: number };
  readonly allow?: AllowedValues;
}

/**
 * Checks provider accounts against the plugins of this worker and fills in the defaults of their fields.
 * Secrets stay references. `locate` tells where the accounts stand in heddle.yaml.
 * @throws ProblemsError with everything that is wrong.
 */
export function checkAccounts<Some extends Account>(
  registry: Registry,
  accounts: Readonly<Record<string, Some>>,
  locate?: (path: Path) => Place,
): Readonly<Record<string, Some>> {
  return checkAll(registry.providers(), accounts, {
    what: 'provider',
    title: 'The provider accounts cannot be used:',
    locate,
    typeOf: (_name, { type }) => type,
    pathOf: (name) => ['providers', name, 'type'],
    checkMore: (...account) => [...checkCalls(...account), ...checkAllow(...account)],
  });
}

/** Checks the settings of automators in the same way; those that are not mentioned are left as they are. */
export function checkAutomators<Some extends Settings>(
  registry: Registry,
  settings: Readonly<Record<string, Some>>,
  locate?: (path: Path) => Place,
): Readonly<Record<string, Some>> {
  return checkAll(registry.automators(), settings, {
    what: 'automator',
    title: 'The settings of automators cannot be used:',
    locate,
    typeOf: (name) => name,
    pathOf: (name) => ['automators', name],
    checkMore: () => [],
  });
}

interface Settings {
  readonly fields: JsonObject;
}

interface Kind<Some> {
  readonly what: string;
  readonly title: string;
  readonly locate: ((path: Path) => Place) | undefined;
  readonly typeOf: (name: string, settings: Some) => string;
  /** Where the plugin is named. */
  readonly pathOf: (name: string) => Path;
  readonly checkMore: (name: string, settings: Some, descriptor: Descriptor) => readonly Problem[];
}

function checkAll<Some extends Settings>(
  plugins: readonly { readonly descriptor: Descriptor }[],
  all: Readonly<Record<string, Some>>,
  { what, title, locate, typeOf, pathOf, checkMore }: Kind<Some>,
): Readonly<Record<string, Some>> {
  const problems: Problem[] = [];
  const checked = Object.entries(all).map(([name, settings]): readonly [string, Some] => {
    const type = typeOf(name, settings);
    const plugin = plugins.find(({ descriptor }) => descriptor.name === type);
    if (plugin === undefined) {
      problems.push(
        errorAt(
          pathOf(name),
          `there is no ${what} plugin "${type}" on this worker`,
          suggest(
            type,
            plugins.map(({ descriptor }) => descriptor.name),
          ),
        ),
      );
      return [name, settings];
    }
    const fields = checkFields(plugin.descriptor, 'admin', settings.fields, [`${what}s`, name, 'fields']);
    problems.push(...fields.problems, ...checkMore(name, settings, plugin.descriptor));
    return [name, { ...settings, fields: fields.values }];
  });
  if (hasErrors(problems))
    throw new ProblemsError(title, locate === undefined ? problems : placeProblems(problems, locate));
  return Object.fromEntries(checked);
}

/** A limit that nobody keeps would be believed. */
function checkCalls(
  name: string,
  { limits }: Account,
  { name: type, countsCalls }: Descriptor,
): readonly Problem[] {
  if (limits?.callsPerSecond === undefined || countsCalls) return [];
  return [
    errorAt(
      ['providers', name, 'limits', 'callsPerSecond'],
      `cannot be kept: provider type ${type} does not count its calls`,
      'ratePerSecond limits CREATE and DELETE.',
    ),
  ];
}

/** A list that has no effect would be believed, too. */
function checkAllow(name: string, { allow = {} }: Account, descriptor: Descriptor): readonly Problem[] {
  const listed = listedFields(descriptor);
  return Object.keys(allow)
    .filter((key) => !listed.includes(key))
    .map((key) =>
      errorAt(
        ['providers', name, 'allow', key],
        'lists values of a field that takes none from users',
        `Of type ${descriptor.name} such fields are: ${listed.join(', ') || 'none'}.`,
      ),
    );
}
