import type { JsonObject } from '../model/json.js';
import { checkFields } from '../schema/fields.js';
import { errorAt, hasErrors, placeProblems, ProblemsError, type Path, type Place, type Problem } from '../schema/problem.js';
import { suggest } from '../schema/suggest.js';
import type { Registry } from './registry.js';

interface Account {
  readonly type: string;
  readonly fields: JsonObject;
}

/**
 * Checks provider accounts against the plugins of this worker and fills in the defaults of their fields. Secrets stay
 * references. `locate` tells where the accounts stand in heddle.yaml.
 * @throws ProblemsError with everything that is wrong.
 */
export function checkAccounts<Some extends Account>(
  registry: Registry, accounts: Readonly<Record<string, Some>>, locate?: (path: Path) => Place,
): Readonly<Record<string, Some>> {
  const problems: Problem[] = [];
  const types = registry.providers().map(({ descriptor }) => descriptor.name);
  const checked = Object.entries(accounts).map(([name, account]): readonly [string, Some] => {
    const path = ['providers', name];
    const plugin = registry.providers().find(({ descriptor }) => descriptor.name === account.type);
    if (plugin === undefined) {
      problems.push(errorAt([...path, 'type'], `there is no provider plugin "${account.type}" on this worker`, suggest(account.type, types)));
      return [name, account];
    }
    const fields = checkFields(plugin.descriptor, 'admin', account.fields, [...path, 'fields']);
    problems.push(...fields.problems);
    return [name, { ...account, fields: fields.values }];
  });
  if (hasErrors(problems)) throw new ProblemsError('The provider accounts cannot be used:', locate === undefined ? problems : placeProblems(problems, locate));
  return Object.fromEntries(checked);
}
