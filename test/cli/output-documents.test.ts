import { describe, expect, it } from 'vitest';
import type { CommandDefinition } from '../../src/cli/command.js';
import { commands, createProgram } from '../../src/cli/program.js';
import { documentSchemas } from '../../src/schema/output/documents.js';

interface NamedCommand {
  readonly name: string;
  readonly definition: CommandDefinition;
}

function commandsIn(definitions: readonly CommandDefinition[], before = ''): readonly NamedCommand[] {
  return definitions.flatMap((definition) => {
    const name = `${before}${definition.usage.split(' ')[0]}`;
    const own = definition.load === undefined ? [] : [{ name, definition }];
    return [...own, ...commandsIn(definition.commands ?? [], `${name} `)];
  });
}

function takesJson(name: string): boolean {
  let command = createProgram(() => Promise.resolve());
  for (const word of name.split(' '))
    command = command.commands.find((one) => one.name() === word) ?? command;
  return command.options.some(({ long }) => long === '--json');
}

/** They print what a plugin, a node or a worker writes. */
const withoutDocument = ['machine console', 'plugins run', 'ssh', 'worker'];

describe('commands with --json', () => {
  const all = commandsIn(commands);

  it.each(all.map(({ name, definition }) => [name, definition] as const))(
    '%s names its published documents if it takes the option',
    (name, { json }) => {
      expect(json !== undefined).toBe(takesJson(name));
      if (json !== undefined) expect(json.length === 0).toBe(withoutDocument.includes(name));
    },
  );

  it('write every document that is published', () => {
    const written = new Set(all.flatMap(({ definition }) => definition.json ?? []));
    expect([...written, 'error'].toSorted()).toEqual(
      documentSchemas()
        .map(([name]) => name)
        .toSorted(),
    );
  });
});
