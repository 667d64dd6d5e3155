import { CommanderError, type Command } from 'commander';
import { hasErrorCode } from '../model/system-error.js';
import { CliError, exitCodes } from './errors.js';
import { exitCodeOfInterrupt, interruptByReader, isReaderGone } from './interrupts.js';
import { createProgram, shortHelp } from './program.js';
import { reportError } from './report-error.js';

await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<void> {
  // Users cannot act on deprecations in libraries, such as that of TLS to an IP address.
  process.noDeprecation = true;
  watchReader();
  if (words.length === 0) {
    process.stdout.write(shortHelp);
    return;
  }
  const program = createProgram(async (verb) => {
    process.exitCode = await verb();
  });
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    process.exitCode =
      error instanceof CommanderError
        ? reportUsage(program, error, words)
        : reportError(error, { json: wantsJson(words) });
  }
  const interrupted = exitCodeOfInterrupt();
  if (isReaderGone() || process.exitCode === exitCodes.interrupted)
    process.exitCode = interrupted ?? process.exitCode;
}

/**
 * The reader of the output may stop reading: `heddle list | head -1`. That ends the command at
 * once, unless it waits for something or has something to return: then it is interrupted. A command
 * that does not wait continues without a reader of its notes: its exit code is more important.
 */
function watchReader(): void {
  const watch = (stream: NodeJS.WriteStream, otherwise: () => void): void => {
    stream.on('error', (error) => {
      // A terminal that was closed answers EIO.
      if (!hasErrorCode(error, 'EPIPE') && !hasErrorCode(error, 'EIO')) throw error;
      if (!isReaderGone() && !interruptByReader()) otherwise();
    });
  };
  watch(process.stdout, () => process.exit(process.exitCode ?? exitCodes.ok));
  watch(process.stderr, () => undefined);
}

function reportUsage(program: Command, error: CommanderError, words: readonly string[]): number {
  if (error.exitCode === 0) return exitCodes.ok;
  const message =
    error.message === '(outputHelp)' ? 'a command is missing' : error.message.replace(/^error: /, '');
  return reportError(
    new CliError('Usage', message, { next: [...commandOf(program, words), '--help'].join(' ') }),
    { json: wantsJson(words) },
  );
}

/** `heddle pool hold`: the words that were typed, as far as they are commands. Options may precede them. */
function commandOf(command: Command, words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => command.commands.some((inner) => inner.name() === word));
  const known = command.commands.find((inner) => inner.name() === words[at]);
  return known === undefined ? [command.name()] : [command.name(), ...commandOf(known, words.slice(at + 1))];
}

/** Also for a command line that could not be parsed. */
function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? undefined : end).includes('--json');
}
