import type { CodeEntry } from '../../schema/output/explain.js';
import type { Case } from '../explain/case.js';
import { entries, topics } from '../explain/catalogue.js';
import { code, escapeMarkdown, table } from './markdown.js';

/** The page about errors, docs/reference/errors.md. */
export function errorsPage(): string {
  const blocks = [
    '# Errors',
    '`heddle explain CODE` prints a section of this page, and `heddle explain MESSAGE` the entry of a message, also for a part of the message. [Troubleshooting](../guides/troubleshooting.md) begins with symptoms.',
    '## Codes of errors',
    'An error of a command begins with `error[CODE]:`; programs find the code in the [JSON output](json.md#error). Errors of usage and interrupts begin without a code. There are fewer [exit codes](exit-codes.md).',
    ...sectionsOf('command'),
    '## Kinds of failures',
    'A failed task has a kind. `heddle status`, `heddle task show` and `heddle pool failures` show it, and metrics have it as a label.',
    ...sectionsOf('task'),
    '## Checks of doctor',
    '`heddle doctor` prints a line for each check, some for each account or queue.',
    ...sectionsOf('check'),
    '## Messages',
    '`…` stands for names, numbers and other values; (task) for the kind of the failure of a task.',
    ...Object.entries(topics).flatMap(([topic, cases]) => [
      `### ${topic}`,
      table(['message', 'code', 'cause', 'remedy'], cases.map(caseRow)),
    ]),
  ];
  return `${blocks.join('\n\n')}\n`;
}

function sectionsOf(kind: CodeEntry['of']): readonly string[] {
  return entries.filter(({ of }) => of === kind).flatMap(section);
}

function section({ code: name, title, exitCode, meaning, reaction, causes }: CodeEntry): readonly string[] {
  const exit = exitCode === undefined ? '' : ` Exit code ${exitCode}.`;
  return [
    `### ${name}`,
    `*${title.charAt(0).toUpperCase()}${title.slice(1)}.*${exit} ${escapeMarkdown(meaning)}`,
    ...(reaction === undefined ? [] : [`What Heddle does by itself: ${escapeMarkdown(reaction)}`]),
    table(
      ['cause', 'remedy'],
      causes.map(({ cause, ...rest }) => [escapeMarkdown(cause), remedyText(rest)]),
    ),
  ];
}

function caseRow({ message, of, code: name, cause, ...rest }: Case): readonly string[] {
  const codeText = of === 'task' ? `${name} (task)` : name;
  return [code(message.replaceAll('`', "'")), codeText, escapeMarkdown(cause), remedyText(rest)];
}

function remedyText({ remedy, command }: Pick<Case, 'remedy' | 'command'>): string {
  return `${escapeMarkdown(remedy)}${command === undefined ? '' : ` ${code(command)}`}`;
}
