import { warningAt, type Problem } from '../schema/problem.js';

/**
 * Replaces `%(NODEPOOL_X)` in the text of a file, as Nodepool does before it reads the YAML.
 * Keeps variables without a value, and reports them with their places.
 */
export function replaceVariables(
  text: string,
  file: string,
  variables: Readonly<Record<string, string>>,
): { readonly text: string; readonly remarks: readonly Problem[] } {
  const remarks: Problem[] = [];
  const replaced = text.replaceAll(/%\((\w+)\)/g, (whole, name: string, offset: number) => {
    if (Object.hasOwn(variables, name)) return variables[name] ?? '';
    const before = text.slice(0, offset).split('\n');
    remarks.push({
      ...warningAt(
        [],
        `${whole} has no value in the environment, and is kept unchanged`,
        name.startsWith('NODEPOOL_')
          ? `Set ${name} and import again.`
          : 'Only variables that begin with NODEPOOL_ are replaced.',
      ),
      place: { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
    });
    return whole;
  });
  return { text: replaced, remarks };
}
