import { unsafeText } from '../model/safe-text.js';
import { PluginError } from './errors.js';

/**
 * Replaces `{name}` in an administrator's command. No shell interprets the words, so quotes and spaces are
 * harmless.
 * @throws PluginError Invalid for a value that would be parsed as an option or contains a control character.
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
          `{${name}} in a program's command ${why}; the program was not started`,
        );
      return value;
    }),
  );
}
