import type { Json, JsonObject } from '../../model/json.js';
import type { WrittenProvider } from '../../schema/config.js';
import { readConfigFile } from '../../schema/read-config.js';
import { hasErrors, ProblemsError } from '../../schema/problem.js';
import { readTextFile } from '../../schema/read-text.js';
import { CliError } from '../errors.js';
import { checkDraft, declaredFields, type AccountDraft } from './check-draft.js';
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
import { dropAccount, putAccount } from './yaml-edit.js';

export interface SavedAccount {
  /** As heddle.yaml has them: secrets are references. */
  readonly fields: JsonObject;
  /** Files with secrets. */
  readonly stored: readonly string[];
}

/** What workers must do about a change, in words for people. */
export const whenItCounts =
  'Workers read heddle.yaml when they start: start them again (or heddle dev) for this to count.';

/**
 * Checks an account and writes it: its secrets into files, the rest into heddle.yaml. Everything is checked,
 * and written beside its place, before anything is changed.
 * @throws ProblemsError with everything that is wrong; CliError Refused where the name is taken, unless it is
 * to be replaced.
 */
export function addAccount(
  workspace: Workspace,
  draft: AccountDraft,
  { replace }: { readonly replace: boolean },
): SavedAccount {
  const problems = checkDraft(workspace, draft);
  if (hasErrors(problems))
    throw new ProblemsError(`The account ${JSON.stringify(draft.name)} cannot be added:`, problems);
  const { config, file, descriptors } = workspace;
  const before = readFile(file);
  const providers = accountsIn(before, file);
  refuseTaken({ file, providers }, draft.name, replace);
  const place: SecretFolder = { dataFolder: config.dataFolder, account: draft.name };
  const declared = new Map(declaredFields(descriptors.find(({ name }) => name === draft.type) ?? {}));
  const secrets = Object.entries(draft.fields).flatMap(([key, value]) =>
    typeof value === 'string' && isPlainSecret(declared.get(key), value) ? [[key, value] as const] : [],
  );
  const fields = {
    ...draft.fields,
    ...Object.fromEntries(secrets.map(([key]): [string, Json] => [key, secretReference(place, key)])),
  };

  const text = putAccount(before, draft.name, { type: draft.type, fields, site: draft.site });
  const stored = storedFiles(place, fields);
  const stale = storedFiles(place, providers[draft.name]?.fields ?? {}).filter(
    (path) => !stored.includes(path),
  );
  commitAll(
    () => refuseChanged(file, before),
    function* () {
      for (const [key, value] of secrets) yield stageSecret(place, key, value);
      // Written last, so that it never refers to missing files.
      yield stageFile(file, text);
    },
    () => removeStored(place, []),
  );
  removeStored(place, stale);
  return { fields, stored: secrets.map(([key]) => secretReference(place, key).secret.slice('file:'.length)) };
}

/**
 * Removes an account from heddle.yaml, and its stored secrets. Returns their files.
 * @throws CliError NotFound
 */
export function removeAccount(workspace: Workspace, name: string): readonly string[] {
  const { config, file } = workspace;
  const before = readFile(file);
  const account = findAccount({ file, providers: accountsIn(before, file) }, name);
  const place: SecretFolder = { dataFolder: config.dataFolder, account: name };
  const text = dropAccount(before, name);
  commitAll(
    () => refuseChanged(file, before),
    function* () {
      yield stageFile(file, text);
    },
    () => undefined,
  );
  const stored = storedFiles(place, account.fields);
  removeStored(place, stored);
  return stored;
}

/** The accounts of a heddle.yaml, as they were when it was read. */
export interface Accounts {
  readonly file: string;
  readonly providers: Readonly<Record<string, Pick<WrittenProvider, 'fields'>>>;
}

/** @throws CliError NotFound */
export function findAccount({ file, providers }: Accounts, name: string): Accounts['providers'][string] {
  const account = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (account === undefined)
    throw new CliError('NotFound', `there is no provider account ${JSON.stringify(name)} in ${file}`, {
      next: 'heddle provider list',
    });
  return account;
}

/** @throws CliError Refused */
export function refuseTaken({ file, providers }: Accounts, name: string, replace: boolean): void {
  if (replace || !Object.hasOwn(providers, name)) return;
  throw new CliError(
    'Refused',
    `there is a provider account ${JSON.stringify(name)} in ${file} already. Choose another name, or say --replace to write it anew.`,
    { next: 'heddle provider list' },
  );
}

/** The accounts in the file now: another process may have changed it during the questions. */
function accountsIn(text: string, file: string): Accounts['providers'] {
  const reading = readConfigFile(text, file);
  if (!reading.ok) throw new ProblemsError('The configuration cannot be used:', reading.problems);
  return reading.config.providers;
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
    throw new CliError('Refused', `${file} was changed meanwhile, and is left as it is now. Try again.`);
}

/** All files are written beside their places first: where one cannot be, none is changed. */
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
