import { readFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import type { Connection } from '@temporalio/client';
import { keyInUse, missingKey } from '../../client/check-keys.js';
import { findKeyUses, type KeySearch, type KeyUses } from '../../client/key-uses.js';
import type { Config } from '../../config/index.js';
import {
  addKey,
  createKeys,
  exportKeys,
  importKeys,
  openKeyRing,
  notInFolder,
  removeKey,
  rotateKeys,
  useKey,
} from '../../secrets/keys.js';
import { parseKeys } from '../../secrets/key-document.js';
import { checkServer } from '../../server/check.js';
import { openConnection } from '../../server/connect.js';
import { CliError, exitCodes } from '../errors.js';
import {
  chooseServer,
  locationOf,
  openKeys,
  readConfiguration,
  type CommonOptions,
} from '../configuration.js';
import { prepareFolder, refuseOpenFolder } from '../../config/prepare-folder.js';
import { isSystemError } from '../../model/system-error.js';
import { createOutput } from '../output.js';
import { formatCount, formatMoment } from '../format.js';
import { temporalClient } from '../session.js';
import { confirm, type Confirmation } from '../terminal.js';
import { localVerb } from '../verb.js';
import { isDiskFull, wordsForFileError, wordsForWriteError } from '../../schema/read-text.js';

export const create = localVerb(
  async (options: CommonOptions) => {
    const config = readConfiguration(options);
    const { folder } = config.keys;
    await refuseInUse(config, options);
    // Workers refuse a data folder that is open to others.
    prepareFolder(config.dataFolder);
    return { folder, keys: createKeys(folder).list() };
  },
  {
    print: (output, { folder, keys: [key] }) => {
      output.line(`key ${key?.id} is created in ${folder}`);
      output.line(
        `Every worker and every user of this server needs it: run heddle keys export here, and heddle keys import there.`,
      );
    },
  },
);

/** A new key could not decrypt data of another one in use. Skips the check if the server does not respond. */
async function refuseInUse(config: Config, options: CommonOptions): Promise<void> {
  await withServer(config, options, async (server) => {
    const used = await keyInUse(server);
    if (used === undefined) return;
    throw new CliError(
      'Refused',
      `no key was created: ${missingKey(server, used, config.keys.folder)}. ` +
        'For another installation, select its server and namespace, for example with TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE',
      { next: 'heddle keys import FILE' },
    );
  });
}

export const list = localVerb(
  async (options: CommonOptions) => {
    const config = readConfiguration(options);
    const uses = await withServer(config, options, (server) => usesOf(config, server, {}));
    return {
      from: config.exportedKeys === undefined ? config.keys.folder : 'HEDDLE_KEYS',
      namespace: uses?.namespace,
      keys: openKeys(config)
        .list()
        .map((key) => ({ ...key, uses: uses && (uses.found.get(key.id) ?? unused) })),
    };
  },
  {
    table: {
      head: ['KEY', 'CREATED', 'USE', 'NEEDED BY'],
      rows: ({ keys }) =>
        keys.map(({ id, createdAt, current, uses }) => [
          id,
          formatMoment(createdAt),
          current ? 'encrypts and decrypts' : 'decrypts',
          uses === undefined ? 'unknown without a server' : needText(uses),
        ]),
    },
    print: (output, { namespace }) => {
      if (namespace !== undefined)
        output.line(
          `in namespace ${namespace}, according to the memo and the first and newest event of running workflows. More may need a key: heddle keys remove also reads whole histories and ended runs`,
        );
    },
  },
);

const unused: KeyUses = { open: [], ended: 0, schedules: [], workers: [] };

/** Undefined if no server answers. */
async function withServer<Result>(
  config: Config,
  options: CommonOptions,
  use: (server: { readonly connection: Connection; readonly namespace: string }) => Promise<Result>,
): Promise<Result | undefined> {
  const choice = await chooseServer(config, options);
  const location = locationOf(config, choice);
  const answers = await checkServer(location).then(
    () => true,
    () => false,
  );
  if (!answers) return undefined;
  const connection = openConnection(location);
  try {
    return await use({ connection, namespace: choice.namespace });
  } finally {
    await connection.close();
  }
}

async function usesOf(
  config: Config,
  { connection, namespace }: { readonly connection: Connection; readonly namespace: string },
  search: KeySearch,
): Promise<{ readonly namespace: string; readonly found: ReadonlyMap<string, KeyUses> }> {
  return { namespace, found: await findKeyUses(temporalClient(connection, namespace, config), search) };
}

/** `2 workflows (cluster/web, pool/ci), schedule sweep`, or `none found`. */
function needText({ open, ended, schedules, workers }: KeyUses): string {
  const some = (noun: string, names: readonly string[]): readonly string[] =>
    names.length === 0
      ? []
      : [
          `${formatCount(names.length, noun)} (${names.slice(0, shownNames).join(', ')}${names.length > shownNames ? ', ...' : ''})`,
        ];
  const needs = [
    ...some('workflow', open),
    ...(ended === 0 ? [] : [`${formatCount(ended, 'ended run')}`]),
    ...some('schedule', schedules),
    ...some('worker', workers),
  ];
  return needs.join(', ') || 'none found';
}

const shownNames = 3;

export interface RemoveOptions extends CommonOptions, Confirmation {}

export const remove = localVerb(
  async (id: string, options: RemoveOptions) => {
    const config = folderConfiguration(options);
    const ring = openKeys(config);
    if (!ring.list().some((key) => key.id === id)) throw notInFolder(id, config.keys.folder);
    if (ring.current().id === id)
      throw new CliError('Refused', `key ${id} is in use for encryption; rotate to another key first`, {
        next: 'heddle keys rotate',
      });
    const uses = await withServer(config, options, async (server) => {
      const ends = await usesOf(config, server, { ended: true });
      // Whole histories of thousands of workflows take minutes.
      return ends.found.has(id) ? ends : usesOf(config, server, { whole: true });
    });
    if (uses === undefined)
      throw new CliError(
        'NoServer',
        `key ${id} was not removed: no server responds, so it is unknown whether anything needs it`,
        { next: 'heddle doctor' },
      );
    const use = uses.found.get(id);
    if (use !== undefined)
      throw new CliError('Refused', `key ${id} was not removed: ${refusalOf(uses.namespace, use)}`);
    await confirm(
      `Nothing in namespace ${uses.namespace} needs key ${id}. What it encrypted in other namespaces, exports and backups is lost with it. Remove it from ${config.keys.folder}?`,
      options,
    );
    await removeKey(config.keys.folder, id);
    return { folder: config.keys.folder, removed: id };
  },
  { print: (output, { removed, folder }) => output.line(`key ${removed} is removed from ${folder}`) },
);

/** Why a key is needed, and how that ends. */
function refusalOf(namespace: string, use: KeyUses): string {
  const ends = [
    ...(use.open.length > 0
      ? ['a workflow needs it until it ends, or its run and the runs after it are no longer kept']
      : []),
    ...(use.ended > 0 ? ['the server keeps an ended run for the retention of the namespace'] : []),
    ...(use.schedules.length > 0
      ? ['a worker that starts after the rotation encrypts the schedules with the new key']
      : []),
    ...(use.workers.length > 0 ? ['workers use the new key of their folder within a minute'] : []),
  ];
  return `namespace ${namespace} needs it: ${needText(use)}; ${ends.join('; ')}`;
}

export interface RotateOptions extends CommonOptions {
  /** Adds a key that encrypts nothing yet. */
  readonly stage?: boolean;
  /** Encrypts with this key from now on. */
  readonly to?: string;
}

export const rotate = localVerb(
  async (options: RotateOptions) => {
    if (options.stage === true && options.to !== undefined)
      throw new CliError('Usage', '--stage adds a key and --to starts to use one: give only one of them');
    const { folder } = folderConfiguration(options).keys;
    const said = await rotateIn(folder, options);
    return { folder, keys: openKeyRing({ folder, create: false }).list(), said };
  },
  { document: ({ folder, keys }) => ({ folder, keys }), print: (output, { said }) => output.lines(said) },
);

/** Returns what happened, for people. */
async function rotateIn(folder: string, { stage = false, to }: RotateOptions): Promise<string> {
  if (stage) {
    const id = await addKey(folder);
    return `key ${id} is added, and does not encrypt yet: distribute it to every worker and user (heddle keys export, heddle keys import)\nnext: heddle keys rotate --to ${id}`;
  }
  if (to !== undefined) {
    await useKey(folder, to);
    return `key ${to} encrypts from now on; workers start to use it within a minute`;
  }
  const id = await rotateKeys(folder);
  return `key ${id} encrypts from now on; older keys stay to decrypt existing data\nEvery other worker and user needs it too: run heddle keys export here, and heddle keys import there.`;
}

/** Without a file the keys go to standard output, for a pipe; never to a terminal by accident. */
export async function exportRing(file: string | undefined, options: CommonOptions): Promise<number> {
  const text = exportKeys(folderConfiguration(options).keys.folder);
  if (file === undefined || file === '-') {
    if (file === undefined && process.stdout.isTTY)
      throw new CliError(
        'Usage',
        'these keys decrypt everything: name a file, or - to show them here nevertheless',
        { next: 'heddle keys export FILE' },
      );
    process.stdout.write(text);
    return exitCodes.ok;
  }
  await writeNew(file, text);
  const output = createOutput(options);
  output.line(
    `the keys are in ${file} (mode 0600). They decrypt every payload: remove the file after the import.`,
  );
  output.document({ file });
  return exitCodes.ok;
}

async function writeNew(file: string, text: string): Promise<void> {
  const refuse = (cause: unknown, rest = ''): never => {
    throw new CliError(
      'Invalid',
      `cannot write ${file}: ${wordsForWriteError(cause)}; ${adviceFor(cause)}${rest}`,
      { cause, next: 'heddle keys export FILE' },
    );
  };
  const handle = await open(file, 'wx', 0o600).catch(refuse);
  try {
    await handle.writeFile(text).finally(() => handle.close());
  } catch (cause) {
    const isRemoved = await rm(file, { force: true }).then(
      () => true,
      () => false,
    );
    refuse(cause, isRemoved ? '' : `, and remove ${file}, which contains keys`);
  }
}

function adviceFor(cause: unknown): string {
  if (isDiskFull(cause)) return 'free some space there, or name a file elsewhere';
  const code = isSystemError(cause) && 'code' in cause ? cause.code : undefined;
  return code === 'ENOENT' || code === 'EEXIST' || code === 'ENOTDIR' || code === 'ENAMETOOLONG'
    ? 'name a new file in a folder that exists'
    : 'name a file elsewhere';
}

export const importRing = localVerb(
  async (file: string, options: CommonOptions) => {
    const { folder } = folderConfiguration(options).keys;
    const source = file === '-' ? 'standard input' : file;
    const text = readKeys(file);
    const imported = await importKeys(folder, text, source);
    const given = parseKeys(text, source);
    const encrypts = openKeyRing({ folder, create: false }).current().id;
    // The folder had keys of its own, perhaps of no installation at all.
    const isForeign = !given.keys.some(({ id }) => id === encrypts);
    return { folder, imported, encrypts, foreign: isForeign ? given.current : undefined };
  },
  {
    document: ({ folder, imported }) => ({ folder, imported }),
    print: (output, { folder, imported, encrypts, foreign }) => {
      output.line(
        imported.length === 0
          ? 'nothing new: all of these keys are already here'
          : `imported ${imported.join(', ')} into ${folder}`,
      );
      if (foreign !== undefined)
        output.lines(
          `key ${encrypts}, which is not among them, still encrypts: the workers that they come from cannot read it\nnext: heddle keys rotate --to ${foreign}`,
        );
    },
  },
);

function readKeys(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new CliError('Invalid', `cannot read ${file}: ${wordsForFileError(cause)}`, { cause });
  }
}

/**
 * @throws CliError Refused if the keys come from the environment, ProblemsError if others may
 * read the data folder.
 */
function folderConfiguration(options: CommonOptions): Config {
  const config = readConfiguration(options);
  if (config.exportedKeys === undefined) {
    refuseOpenFolder(config.dataFolder);
    return config;
  }
  throw new CliError(
    'Refused',
    'the keys come from HEDDLE_KEYS, not from a folder; change or unset HEDDLE_KEYS',
  );
}
