import { refuseOpenFolder } from '../../config/prepare-folder.js';
import { exitCodes } from '../errors.js';
import { confirm } from '../terminal.js';
import { localVerb } from '../verb.js';
import { describeFields, hideSecrets } from './field-words.js';
import { findAccount, removeSettings, whenItCounts } from './save-account.js';
import { testAccount } from './test-account.js';
import { type AccountOptions, openWorkspace } from './workspace.js';

/** The provider accounts of heddle.yaml, without secrets. */
export const list = localVerb(
  async (options: AccountOptions) => {
    const { config, file, descriptors } = await openWorkspace(options);
    const providers = Object.entries(config.providers).map(([name, { type, site, fields }]) => ({
      name,
      type,
      site,
      fields: hideSecrets(
        descriptors.find((one) => one.name === type),
        fields,
      ),
      from: config.origins[`providers.${name}`] ?? '-',
    }));
    return { file, providers };
  },
  {
    print: (output, { file, providers }) => {
      if (providers.length === 0) return output.line(`no provider accounts in ${file}`);
      output.table(
        ['NAME', 'TYPE', 'SITE', 'FROM', 'FIELDS'],
        providers.map(({ name, type, site, from, fields }) => [
          name,
          type,
          site,
          from,
          describeFields(fields),
        ]),
      );
    },
  },
);

/** Removes a provider account from heddle.yaml, with the secrets that are stored for it. */
export const remove = localVerb(
  async (name: string, options: AccountOptions & { readonly yes?: boolean }) => {
    const workspace = await openWorkspace(options);
    const { config, file } = workspace;
    findAccount({ file, providers: config.providers }, name);
    // Loaded only here: the client takes a while.
    const { describeUsers } = await import('./account-users.js');
    const users = options.yes === true ? '' : `${await describeUsers({ config: config.file }, name)} `;
    await confirm(
      `Remove provider ${name} from ${file}? ${users}Clusters with machines of this account can then be neither changed nor deleted.`,
      options,
    );
    return { provider: name, file, removed: removeSettings(workspace, { section: 'providers', name }) };
  },
  {
    print: (output, { provider, file, removed }) => {
      output.line(`provider ${provider} is no longer in ${file}`);
      for (const secret of removed) output.line(`removed ${secret}`);
      output.line(whenItCounts);
    },
  },
);

/** Asks the provider of an account for its machines or its quota. */
export const test = localVerb(
  async (name: string, options: AccountOptions) => {
    const workspace = await openWorkspace(options);
    findAccount({ file: workspace.file, providers: workspace.config.providers }, name);
    refuseOpenFolder(workspace.config.dataFolder);
    return { provider: name, ...(await testAccount(workspace, name)) };
  },
  {
    print: (output, { provider, works, says }) =>
      output.lines(`${provider}: ${says}`, works ? 'green' : 'red'),
    exitCode: ({ works }) => (works ? exitCodes.ok : exitCodes.failed),
  },
);
