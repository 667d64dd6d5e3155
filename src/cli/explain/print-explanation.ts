import { exitCodeMeanings, exitsOfErrors } from '../errors.js';
import type { Output } from '../output.js';
import { wrapTo } from '../table.js';
import type { Case } from './case.js';
import type { Entry } from './catalogue.js';

/** Without a terminal. */
const usualColumns = 80;

const headings: Readonly<Record<Entry['of'], string>> = {
  command: 'Codes of errors: error[CODE]: …',
  task: 'Kinds of failures of tasks, in brackets behind the task',
  check: 'Checks of heddle doctor',
};

/** All codes with their titles, by what they are about. */
export function printCodes(output: Output, codes: readonly Entry[]): void {
  const width = Math.max(...codes.map(({ code }) => code.length));
  const kinds = Object.keys(headings) as Entry['of'][];
  for (const kind of kinds) {
    paragraph(output, headings[kind], { style: 'bold' });
    for (const { code, title } of codes.filter(({ of }) => of === kind))
      paragraph(output, title, { lead: `  ${code.padEnd(width)}  ` });
    output.line();
  }
  paragraph(
    output,
    "heddle explain CODE describes one of them; heddle explain 'MESSAGE' also takes a part of a message.",
  );
}

/** A code: meaning, reaction of Heddle, causes, and messages that have it. */
export function printEntry(output: Output, entry: Entry): void {
  const { code, title, meaning, reaction, causes, messages } = entry;
  paragraph(output, `${code}: ${title}`, { style: 'bold' });
  paragraph(output, placeOf(entry), { style: 'dim' });
  output.line();
  paragraph(output, meaning);
  if (reaction !== undefined)
    section(output, 'What Heddle does by itself', () => paragraph(output, reaction));
  section(output, 'Usual causes, and what to do', () => {
    for (const cause of causes) printCause(output, cause);
  });
  if (messages.length > 0)
    section(output, "Messages that heddle explain 'MESSAGE' describes", () => {
      for (const message of messages) paragraph(output, message, { lead: '- ' });
    });
}

/** A message: its cause and its remedy. */
export function printCase(output: Output, one: Case): void {
  paragraph(output, one.message, { style: 'bold' });
  output.line();
  paragraph(output, one.cause, { lead: 'cause:  ' });
  paragraph(output, one.remedy, { lead: 'remedy: ' });
  if (one.command !== undefined) output.line(`next:   ${one.command}`);
  output.line(`more:   heddle explain ${one.of} ${one.code}`);
}

function printCause(output: Output, { cause, remedy, command }: Entry['causes'][number]): void {
  paragraph(output, cause, { lead: '- ' });
  paragraph(output, remedy, { lead: '  ' });
  if (command !== undefined) output.line(`  $ ${command}`);
}

function placeOf({ of, code, exitCode }: Entry): string {
  if (of === 'check') return 'a check of heddle doctor';
  if (of === 'task') return 'a kind of failure of a task, as heddle status and heddle logs show it';
  return `a code of an error; exit code ${exitCode} (${exitCodeMeanings[exitsOfErrors[code]]})`;
}

function section(output: Output, heading: string, print: () => void): void {
  output.line();
  paragraph(output, heading, { style: 'bold' });
  print();
}

/** A text in the width of the terminal; further lines are indented by the width of `lead`. */
function paragraph(
  output: Output,
  text: string,
  { lead = '', style }: { readonly lead?: string; readonly style?: 'bold' | 'dim' } = {},
): void {
  const columns = (output.columns ?? usualColumns) - 1;
  // A lead that leaves no room has a line of its own.
  const isBelow = lead !== '' && columns - lead.length < 20;
  if (isBelow && lead.trim() !== '') output.line(lead.trimEnd());
  const indent = isBelow ? 4 : lead.length;
  wrapTo(text, columns - indent).forEach((line, index) => {
    output.line(`${index === 0 && !isBelow ? lead : ' '.repeat(indent)}${line}`, style);
  });
}
