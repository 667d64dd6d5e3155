import { confirm } from '../confirm.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { findAccount, removeAccount, whenItCounts } from './save-account.js';
import { openWorkspace, type AccountOptions } from './workspace.js';

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
