import { text as readAll } from 'node:stream/consumers';
import type { JsonObject } from '../../model/json.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { simpleNameSchema } from '../../schema/names.js';
import { hasErrors, ProblemsError } from '../../schema/problem.js';
import { suggest } from '../../schema/suggest.js';
import { CliError } from '../errors.js';
import { askFields } from './ask-fields.js';
import { checkSome } from './check-draft.js';
import { hideSecrets } from './field-words.js';
import { fieldsOfArguments, fieldsOfLines } from './given-fields.js';
import type { Pairs } from '../pairs.js';
import { addAccount, refuseTaken, whenItCounts } from './save-account.js';
import { openTerminal } from '../terminal.js';
import { localVerb } from '../verb.js';
import { openWorkspace, type AccountOptions, type Workspace } from './workspace.js';

export interface AddOptions extends AccountOptions {
  readonly type: string;
  readonly site?: string;
  readonly field?: Pairs;
  /** `-`: lines key=value on standard input. */
  readonly secretsFrom?: string;
  readonly replace?: boolean;
}

/** Adds a provider account to heddle.yaml; prompts for missing fields on a terminal. */
export const add = localVerb(
  async (name: string, options: AddOptions) => {
    const workspace = await openWorkspace(options);
    const { type, site, replace = false } = options;
    const descriptor = prepare(workspace, name, options);
    const given = await gatherFields(descriptor, options);
    const { fields, stored } = addAccount(workspace, { name, type, fields: given, site }, { replace });
    const { file } = workspace;
    return { provider: name, type, site, file, fields: hideSecrets(descriptor, fields), stored };
  },
  {
    print: (output, { provider, type, file, stored }) => {
      output.line(`provider ${provider} (${type}) is in ${file}`);
      for (const secret of stored) output.line(`its secret is in ${secret}`);
      output.line(whenItCounts);
    },
  },
);

/** Checks everything except the fields before prompting for these. */
function prepare(
  workspace: Workspace,
  name: string,
  { type, site, secretsFrom, replace = false }: AddOptions,
): Descriptor {
  const descriptor = workspace.descriptors.find((one) => one.name === type);
  if (descriptor === undefined) {
    const near =
      suggest(
        type,
        workspace.descriptors.map((one) => one.name),
      ) ?? '';
    throw new CliError('NotFound', `provider plugin ${JSON.stringify(type)} does not exist. ${near}`.trim(), {
      next: 'heddle plugins',
    });
  }
  for (const [what, text] of [
    ['NAME', name],
    ['--site', site],
  ] as const) {
    const parsed = text === undefined ? undefined : simpleNameSchema.safeParse(text);
    if (parsed?.success === false)
      throw new CliError(
        'Usage',
        `${what}: ${JSON.stringify(text)} is not a valid name. ${parsed.error.issues[0]?.message ?? ''}`,
      );
  }
  if (secretsFrom !== undefined && secretsFrom !== '-')
    throw new CliError(
      'Usage',
      `--secrets-from reads only standard input: use --secrets-from - <${secretsFrom}`,
    );
  if (secretsFrom !== undefined && process.stdin.isTTY)
    throw new CliError(
      'Usage',
      '--secrets-from - requires a pipe; without this option, heddle prompts for the secrets and does not show them',
    );
  refuseTaken({ file: workspace.file, providers: workspace.config.providers }, name, replace);
  return descriptor;
}

async function gatherFields(
  descriptor: Descriptor,
  { field, secretsFrom, json = false }: AddOptions,
): Promise<JsonObject> {
  const given = fieldsOfArguments(descriptor, field ?? []);
  const problems = checkSome(descriptor, given);
  if (hasErrors(problems)) throw new ProblemsError('These fields are not valid:', problems);
  if (secretsFrom !== undefined) return merge(given, fieldsOfLines(descriptor, await readAll(process.stdin)));
  const terminal = json ? undefined : openTerminal();
  if (terminal === undefined) return given;
  try {
    return await askFields(terminal, descriptor, given);
  } finally {
    terminal.close();
  }
}

function merge(given: JsonObject, read: JsonObject): JsonObject {
  const twice = Object.keys(read).find((key) => given[key] !== undefined);
  if (twice !== undefined)
    throw new CliError('Usage', `${twice} is given twice, by --field and on standard input`);
  return { ...given, ...read };
}
