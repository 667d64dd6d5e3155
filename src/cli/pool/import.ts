import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { nodepoolVariables } from '../../config/index.js';
import type { JsonObject } from '../../model/json.js';
import { importNodepool } from '../../nodepool/import.js';
import { isPlainObject } from '../../schema/plain-json.js';
import { maxPoolsBytes } from '../../schema/pool/read.js';
import { formatProblem, ProblemsError } from '../../schema/problem.js';
import { readTextFile } from '../../schema/read-text.js';
import { cleanLine } from '../clean-text.js';
import { CliError } from '../errors.js';
import { localVerb } from '../verb.js';

export interface ImportOptions {
  readonly json?: boolean;
  readonly name: string;
  readonly account: string;
  readonly out?: string;
}

/** Room for a label and a number in hostnames. */
const poolName = /^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$/;

/** Converts a nodepool.yaml to Heddle's files; needs no server. */
export const importFile = localVerb(convert, {
  document: ({ pools, accounts, images, remarks }) => ({
    pools: pools['pools'],
    providers: accounts,
    images,
    remarks: remarks.map(({ path, wrong, right, place }) => ({ path, wrong, right, place })),
  }),
  print: (output, { files, written, accounts, remarks }) => {
    if (written === undefined)
      for (const [path, text] of Object.entries(files)) output.raw(`# ${path}\n${text}`.trimEnd());
    else for (const path of written) output.line(`wrote ${path}`);
    for (const remark of remarks) output.note(cleanLine(formatProblem(remark)));
    const addAccounts = isEmpty(accounts) ? '' : '; add the accounts to the heddle.yaml of the workers';
    const next = 'pools.yaml' in files ? 'heddle pool apply pools.yaml' : 'heddle image apply FILE';
    output.note(
      `${remarks.length} settings are different in Heddle, or omitted${addAccounts}. Then: ${next}`,
    );
  },
});

function convert(file: string, { name, account, out }: ImportOptions) {
  if (!poolName.test(name))
    throw new CliError(
      'Usage',
      `${JSON.stringify(name)} is not a valid pool name: use lower-case letters, digits and hyphens, at most 24 characters`,
    );
  const read = readTextFile(file, maxPoolsBytes);
  if (!read.ok) throw new CliError('Usage', `${file} cannot be read: ${read.wrong}`);
  const reading = importNodepool(read.text, file, {
    name,
    simulated: account,
    variables: nodepoolVariables(),
  });
  if (!reading.ok) throw new ProblemsError(`${file} cannot be imported:`, reading.problems);
  const { pools, accounts, images, remarks } = reading;
  // A file for builders alone has none.
  const hasPool = isPlainObject(pools['pools']) && !isEmpty(pools['pools']);
  const files: Readonly<Record<string, string>> = {
    ...(hasPool ? { 'pools.yaml': toYaml(pools) } : {}),
    ...(isEmpty(accounts) ? {} : { 'accounts.yaml': toYaml({ providers: accounts }) }),
    ...Object.fromEntries(
      Object.entries(images).map(([image, value]) => [`image-${image}.yaml`, toYaml(value)]),
    ),
  };
  return {
    pools,
    accounts,
    images,
    remarks,
    files,
    written: out === undefined ? undefined : writeNew(out, files),
  };
}

function isEmpty(accounts: object): boolean {
  return Object.keys(accounts).length === 0;
}

function toYaml(value: JsonObject): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}

/** Writes all files or none; existing files are never overwritten. */
function writeNew(folder: string, files: Readonly<Record<string, string>>): readonly string[] {
  const there = Object.keys(files)
    .map((path) => join(folder, path))
    .find((path) => existsSync(path));
  if (there !== undefined)
    throw new CliError('Refused', `${there} already exists; choose another folder, or move it away`);
  mkdirSync(folder, { recursive: true });
  return Object.entries(files).map(([path, text]) => {
    writeFileSync(join(folder, path), text, { flag: 'wx' });
    return join(folder, path);
  });
}
