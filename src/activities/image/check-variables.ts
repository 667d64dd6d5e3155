import type { BuildCommand } from '../../schema/config-builder.js';
import { matchesPattern } from '../../schema/field-constraints.js';
import { errorAt, type Problem } from '../../schema/problem.js';

/**
 * What of an image's environment its command does not take: no variable reaches a command of
 * the administrator unless heddle.yaml names it, with a pattern that the whole value matches.
 * Paths are those of image.yaml.
 */
export function checkCommandVariables(
  name: string,
  { variables }: BuildCommand,
  environment: Readonly<Record<string, string>>,
): readonly Problem[] {
  const place = `builder.commands.${name}.variables in heddle.yaml`;
  return Object.entries(environment).flatMap(([variable, value]) => {
    const path = ['command', 'environment', variable];
    const pattern = Object.hasOwn(variables, variable) ? variables[variable] : undefined;
    if (pattern === undefined)
      return [
        errorAt(
          path,
          'is not a variable of the command',
          `Command ${name} accepts ${Object.keys(variables).join(', ') || 'no variables'}; ask the administrator to add it to ${place}, or remove it.`,
        ),
      ];
    return matchesPattern(pattern, value)
      ? []
      : [
          errorAt(
            path,
            `does not match ${pattern}`,
            `The whole value must match; the pattern is in ${place}.`,
          ),
        ];
  });
}
