import { unsafeText } from '../model/safe-text.js';
import { PluginError } from './errors.js';

/**
 * An administrator's command with values in the place of `{name}`. No shell reads the words, so that quotes
 * and blanks are harmless in them; a value that would be an option of the program, or holds a control
 * character, is refused.
 * @throws PluginError Invalid naming the value.
 */
export function fillWords(
  command: readonly string[],
  values: Readonly<Record<string, string>>,
): readonly string[] {
  return command.map((word) =>
    word.replace(/\{(\w+)\}/g, (written, name: string) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value === undefined || value === '') return value ?? written;
      const why = unsafeText(value, { blanks: true, quotes: true });
      if (why !== undefined)
        throw new PluginError(
          'Invalid',
          `{${name}} of a program's command ${why}, so the program is not started`,
        );
      return value;
    }),
  );
}
