import { confirm } from '../terminal.js';
import { exitCodes } from '../errors.js';
import { createOutput } from '../output.js';
import { describeFields, hideSecrets } from './field-words.js';
import { findAccount, removeAccount, whenItCounts } from './save-account.js';
import { type AccountOptions, openWorkspace } from './workspace.js';

/** The provider accounts of heddle.yaml, without secrets. */
export async function list(options: AccountOptions): Promise<number> {
  const {
    config: { providers, origins },
    file,
    descriptors,
  } = await openWorkspace(options);
  const accounts = Object.entries(providers).map(([name, { type, site, fields }]) => ({
    name,
    type,
    site,
    fields: hideSecrets(
      descriptors.find((one) => one.name === type),
      fields,
    ),
    from: origins[`providers.${name}`] ?? '-',
  }));
  const output = createOutput(options);
  if (accounts.length === 0) output.line(`no provider accounts in ${file}`);
  else
    output.table(
      ['NAME', 'TYPE', 'SITE', 'FROM', 'FIELDS'],
      accounts.map(({ name, type, site, from, fields }) => [name, type, site, from, describeFields(fields)]),
    );
  output.document({ file, providers: accounts });
  return exitCodes.ok;
}

/** Takes a provider account out of heddle.yaml, with the secrets that were stored for it. */
export async function remove(
  name: string,
  options: AccountOptions & { readonly yes?: boolean },
): Promise<number> {
  const workspace = await openWorkspace(options);
  findAccount({ file: workspace.file, providers: workspace.config.providers }, name);
  await confirm(
    `Remove provider ${name} from ${workspace.file}? Clusters that have machines of it can then neither be changed nor deleted.`,
    options,
  );
  const removed = removeAccount(workspace, name);
  const output = createOutput(options);
  output.line(`provider ${name} is no longer in ${workspace.file}`);
  for (const file of removed) output.line(`removed ${file}`);
  output.line(whenItCounts);
  output.document({ provider: name, file: workspace.file, removed });
  return exitCodes.ok;
}
