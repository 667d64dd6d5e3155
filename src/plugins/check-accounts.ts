import { byName } from '../model/by-name.js';
import type { JsonObject } from '../model/json.js';
import type { Descriptor } from '../schema/descriptor.js';
import { namedByFields } from '../schema/field-files.js';
import { checkFiles, type NamedFile } from '../schema/named-files.js';
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

interface Settings {
  readonly fields: JsonObject;
}

interface Account extends Settings {
  readonly type: string;
  readonly limits?: { readonly callsPerSecond?: number };
  readonly allow?: AllowedValues;
}

interface Configuration<Some extends Account, Automator extends Settings> {
  readonly namedFiles: readonly NamedFile[];
  readonly providers: Readonly<Record<string, Some>>;
  readonly automators: Readonly<Record<string, Automator>>;
  /** The source position of a path in heddle.yaml. */
  readonly locate?: (path: Path) => Place;
}

/**
 * Checks heddle.yaml as a worker with these plugins does: accounts, settings of automators, and files that
 * other users own or can write.
 * @param options `files`: whether to check the files, which only the workers' user can do. Default: true.
 * @returns the accounts and automators with the defaults of their fields.
 * @throws ProblemsError with all faults of one of these three checks.
 */
export function checkConfiguration<Some extends Account, Automator extends Settings>(
  registry: Registry,
  config: Configuration<Some, Automator>,
  { files = true }: { readonly files?: boolean } = {},
): Pick<Configuration<Some, Automator>, 'providers' | 'automators'> {
  const providers = checkAccounts(registry, config.providers, config.locate);
  const automators = checkAutomators(registry, config.automators, config.locate);
  if (files) checkNamedFiles(registry, { ...config, providers, automators });
  return { providers, automators };
}

/**
 * Checks provider accounts against the plugins of this worker and fills in the defaults of their fields.
 * Secrets remain references. `locate` returns the source position of a path in heddle.yaml.
 * @throws ProblemsError with all faults.
 */
export function checkAccounts<Some extends Account>(
  registry: Registry,
  accounts: Readonly<Record<string, Some>>,
  locate?: (path: Path) => Place,
): Readonly<Record<string, Some>> {
  const problems: Problem[] = [];
  const descriptors = registry.providers().map(({ descriptor }) => descriptor);
  const checked = Object.entries(accounts).map(([name, account]): readonly [string, Some] => {
    const { type } = account;
    const descriptor = findPlugin(descriptors, 'provider', type, ['providers', name, 'type'], problems);
    if (descriptor === undefined) return [name, account];
    problems.push(...checkCalls(name, account, descriptor), ...checkAllow(name, account, descriptor));
    return [name, fillFields(descriptor, account, ['providers', name, 'fields'], problems)];
  });
  throwProblems('The provider accounts cannot be used:', problems, locate);
  return byName(checked);
}

/** Checks the settings of automators in the same way. */
export function checkAutomators<Some extends Settings>(
  registry: Registry,
  settings: Readonly<Record<string, Some>>,
  locate?: (path: Path) => Place,
): Readonly<Record<string, Some>> {
  const problems: Problem[] = [];
  const descriptors = registry.automators().map(({ descriptor }) => descriptor);
  const checked = Object.entries(settings).map(([name, given]): readonly [string, Some] => {
    const descriptor = findPlugin(descriptors, 'automator', name, ['automators', name], problems);
    if (descriptor === undefined) return [name, given];
    return [name, fillFields(descriptor, given, ['automators', name, 'fields'], problems)];
  });
  throwProblems('The automator settings cannot be used:', problems, locate);
  return Object.fromEntries(checked);
}

/** Rejects files in settings and plugin fields that other users own or can write. */
function checkNamedFiles(
  registry: Registry,
  { namedFiles, providers, automators, locate }: Configuration<Account, Settings>,
): void {
  const files = [
    ...namedFiles,
    ...Object.entries(providers).flatMap(([name, { type, fields }]) =>
      namedByFields(registry.provider(type).descriptor, fields, ['providers', name, 'fields']),
    ),
    ...Object.entries(automators).flatMap(([name, { fields }]) =>
      namedByFields(registry.automator(name).descriptor, fields, ['automators', name, 'fields']),
    ),
  ];
  throwProblems('Files of other users cannot be used:', checkFiles(files, { atStart: true }), locate);
}

function findPlugin(
  descriptors: readonly Descriptor[],
  kind: Descriptor['type'],
  type: string,
  path: Path,
  problems: Problem[],
): Descriptor | undefined {
  const names = descriptors.map(({ name }) => name);
  if (!names.includes(type))
    problems.push(
      errorAt(path, `${kind} plugin "${type}" is not installed on this worker`, suggest(type, names)),
    );
  return descriptors.find(({ name }) => name === type);
}

function fillFields<Some extends Settings>(
  descriptor: Descriptor,
  settings: Some,
  path: Path,
  problems: Problem[],
): Some {
  const fields = checkFields(descriptor, 'admin', settings.fields, path);
  problems.push(...fields.problems);
  return { ...settings, fields: fields.values };
}

function throwProblems(
  title: string,
  problems: readonly Problem[],
  locate: ((path: Path) => Place) | undefined,
): void {
  if (hasErrors(problems))
    throw new ProblemsError(title, locate === undefined ? problems : placeProblems(problems, locate));
}

/** Rejects a limit that the provider would not enforce. */
function checkCalls(
  name: string,
  { limits }: Account,
  { name: type, countsCalls }: Descriptor,
): readonly Problem[] {
  if (limits?.callsPerSecond === undefined || countsCalls) return [];
  return [
    errorAt(
      ['providers', name, 'limits', 'callsPerSecond'],
      `cannot be enforced: provider type ${type} does not count its calls`,
      'ratePerSecond limits CREATE and DELETE.',
    ),
  ];
}

/** Rejects a list of allowed values without effect. */
function checkAllow(name: string, { allow = {} }: Account, descriptor: Descriptor): readonly Problem[] {
  const listed = listedFields(descriptor);
  return Object.keys(allow)
    .filter((key) => !listed.includes(key))
    .map((key) =>
      errorAt(
        ['providers', name, 'allow', key],
        'has no effect: the field is not declared `overridable: listed`',
        `Such fields of type ${descriptor.name}: ${listed.join(', ') || 'none'}.`,
      ),
    );
}
