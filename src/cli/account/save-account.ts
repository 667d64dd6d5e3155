import type { Json, JsonObject } from '../../model/json.js';
import type { Settings } from '../../schema/config.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { readConfigFile } from '../../schema/read-config.js';
import { hasErrors, ProblemsError } from '../../schema/problem.js';
import { readTextFile } from '../../schema/read-text.js';
import { CliError } from '../errors.js';
import { checkDraft, checkValues, declaredFields, type AccountDraft } from './check-draft.js';
import { isPlainSecret } from './field-text.js';
import {
  removeStored,
  type SecretFolder,
  secretReference,
  type StagedFile,
  stageFile,
  stageSecret,
  storedFiles,
} from './secret-files.js';
import type { Workspace } from './workspace.js';
import { dropEntry, putAccount, putAutomator, type SettingsEntry } from './yaml-edit.js';

export interface SavedAccount {
  /** As heddle.yaml has them: secrets are references. */
  readonly fields: JsonObject;
  /** Files with secrets. */
  readonly stored: readonly string[];
}

/** When a change takes effect. */
export const whenItCounts = 'Running workers apply this heddle.yaml within seconds, and log it.';

/**
 * Checks an account and writes it: its secrets into files, the rest into heddle.yaml. Everything is
 * checked, and written next to its destination, before anything is changed.
 * @throws ProblemsError with all problems; CliError Refused if the name is taken and `replace` is not set.
 */
export function addAccount(
  workspace: Workspace,
  draft: AccountDraft,
  { replace }: { readonly replace: boolean },
): SavedAccount {
  const problems = checkDraft(workspace, draft);
  if (hasErrors(problems))
    throw new ProblemsError(`The account ${JSON.stringify(draft.name)} cannot be added:`, problems);
  const { name, type, site } = draft;
  return save(workspace, { section: 'providers', name }, draft.fields, {
    descriptor: workspace.descriptors.find((one) => one.name === type),
    check: ({ providers }) => refuseTaken({ file: workspace.file, providers }, name, replace),
    write: (text, fields) => putAccount(text, name, { type, fields, site }),
  });
}

/**
 * Checks the settings of an automator and writes them in the same way.
 * @throws ProblemsError with everything that is wrong.
 */
export function saveAutomator(
  workspace: Workspace,
  descriptor: Descriptor,
  fields: JsonObject,
): SavedAccount {
  const { name } = descriptor;
  const problems = checkValues(descriptor, fields);
  if (hasErrors(problems))
    throw new ProblemsError(`The settings of automator ${name} cannot be saved:`, problems);
  return save(workspace, { section: 'automators', name }, fields, {
    descriptor,
    check: () => undefined,
    write: (text, written) => putAutomator(text, name, written),
  });
}

interface Writing {
  readonly descriptor: Descriptor | undefined;
  /** Refuses a conflict with the present content of the file. */
  readonly check: (config: Settings) => void;
  /** Returns the text of heddle.yaml with the fields. */
  readonly write: (text: string, fields: JsonObject) => string;
}

function save(
  { config: { dataFolder }, file }: Workspace,
  entry: SettingsEntry,
  given: JsonObject,
  { descriptor, check, write }: Writing,
): SavedAccount {
  const before = readFile(file);
  const config = configIn(before, file);
  check(config);
  const place = secretFolderOf(dataFolder, entry);
  const declared = new Map(declaredFields(descriptor ?? {}));
  const secrets = Object.entries(given).flatMap(([key, value]) =>
    typeof value === 'string' && isPlainSecret(declared.get(key), value) ? [[key, value] as const] : [],
  );
  const fields = {
    ...given,
    ...Object.fromEntries(secrets.map(([key]): [string, Json] => [key, secretReference(place, key)])),
  };
  const text = write(before, fields);
  const stored = storedFiles(place, fields);
  const earlier = storedFiles(place, config[entry.section][entry.name]?.fields ?? {});
  commitAll(
    () => refuseChanged(file, before),
    function* () {
      for (const [key, value] of secrets) yield stageSecret(place, key, value);
      // Written last, so that it never refers to missing files.
      yield stageFile(file, text);
    },
    () => removeStored(place, []),
  );
  removeStored(
    place,
    earlier.filter((path) => !stored.includes(path)),
  );
  return { fields, stored: secrets.map(([key]) => secretReference(place, key).secret.slice('file:'.length)) };
}

/** Names of accounts contain no dot, so no account has the folder of an automator. */
function secretFolderOf(dataFolder: string, { section, name }: SettingsEntry): SecretFolder {
  return { dataFolder, account: section === 'providers' ? name : `automator.${name}` };
}

/**
 * Removes an account, or the settings of an automator, from heddle.yaml, with its stored
 * secrets. Returns their files.
 * @throws CliError NotFound
 */
export function removeSettings(workspace: Workspace, entry: SettingsEntry): readonly string[] {
  const { config, file } = workspace;
  const before = readFile(file);
  const { [entry.section]: entries } = configIn(before, file);
  const { fields } = findEntry({ file, entries }, entry);
  const place = secretFolderOf(config.dataFolder, entry);
  const text = dropEntry(before, entry);
  commitAll(
    () => refuseChanged(file, before),
    function* () {
      yield stageFile(file, text);
    },
    () => undefined,
  );
  const stored = storedFiles(place, fields);
  removeStored(place, stored);
  return stored;
}

/** The accounts of a heddle.yaml, as it was read. */
export interface Accounts {
  readonly file: string;
  readonly providers: Readonly<Record<string, HasFields>>;
}

interface HasFields {
  readonly fields: JsonObject;
}

/** An account as heddle.yaml has it. @throws ProblemsError, CliError if the file cannot be read. */
export function writtenAccount(file: string, name: string): Settings['providers'][string] | undefined {
  const { providers } = configIn(readFile(file), file);
  return Object.hasOwn(providers, name) ? providers[name] : undefined;
}

/** @throws CliError NotFound */
export function findAccount({ file, providers }: Accounts, name: string): HasFields {
  return findEntry({ file, entries: providers }, { section: 'providers', name });
}

function findEntry(
  { file, entries }: { readonly file: string; readonly entries: Readonly<Record<string, HasFields>> },
  { section, name }: SettingsEntry,
): HasFields {
  const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
  if (entry !== undefined) return entry;
  const what = section === 'providers' ? 'provider account' : 'settings of automator';
  throw new CliError('NotFound', `${file} has no ${what} ${JSON.stringify(name)}`, {
    next: section === 'providers' ? 'heddle provider list' : 'heddle config show',
  });
}

/** @throws CliError Refused */
export function refuseTaken({ file, providers }: Accounts, name: string, replace: boolean): void {
  if (replace || !Object.hasOwn(providers, name)) return;
  throw new CliError(
    'Refused',
    `provider account ${JSON.stringify(name)} already exists in ${file}. Choose another name, or pass --replace to replace it.`,
    { next: 'heddle provider list' },
  );
}

/** The present content of the file: another process may have changed it during the prompts. */
function configIn(text: string, file: string): Settings {
  const reading = readConfigFile(text, file);
  if (!reading.ok) throw new ProblemsError('The configuration cannot be used:', reading.problems);
  return reading.config;
}

function readFile(file: string): string {
  const reading = readTextFile(file, 1024 * 1024);
  if (reading.ok) return reading.text;
  if (reading.missing === true) return '';
  throw new CliError('Refused', `cannot read ${file}: ${reading.wrong}`);
}

/** Refuses when another process has changed the file since it was read. */
function refuseChanged(file: string, before: string): void {
  if (readFile(file) !== before)
    throw new CliError('Refused', `another process changed ${file}, so nothing was written. Try again.`);
}

/** Writes all files next to their destinations first; if one cannot be written, none is changed. */
function commitAll(check: () => void, stage: () => Iterable<StagedFile>, onFailure: () => void): void {
  const staged: StagedFile[] = [];
  try {
    for (const file of stage()) staged.push(file);
    check();
    for (const file of staged) file.commit();
  } catch (error) {
    for (const file of staged) file.discard();
    onFailure();
    throw error;
  }
}
