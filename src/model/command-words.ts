/**
 * Splits a command line at blanks, with quotes and backslashes as in a shell. @throws Error for an open
 * quote.
 */
export function splitWords(line: string): readonly string[] {
  const words: string[] = [];
  let rest = line.trimStart();
  while (rest !== '') {
    const word = /^(?:\\.|[^\s'"\\]|'[^']*'|"(?:\\.|[^"\\])*")+/s.exec(rest)?.[0];
    if (word === undefined) throw new Error('the command has an unclosed quote, or ends in a backslash');
    words.push(
      word.replaceAll(
        /\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"/gs,
        (_, escaped?: string, single?: string, double?: string) =>
          escaped ?? single ?? (double ?? '').replaceAll(/\\(["\\$`])/g, '$1'),
      ),
    );
    rest = rest.slice(word.length);
    if (rest !== '' && !/^\s/.test(rest))
      throw new Error('the command has an unclosed quote, or ends in a backslash');
    rest = rest.trimStart();
  }
  return words;
}
