import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { describeFields, hideSecrets } from './field-words.js';
import { openWorkspace, type AccountOptions } from './workspace.js';

/** The provider accounts of heddle.yaml, without what is secret. */
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
