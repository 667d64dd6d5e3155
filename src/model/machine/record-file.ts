import { longestRecord } from './current-image.js';

/** The record of the image is `currentimage.txt` in root's home, as on older systems. */
export const recordFile = 'currentimage.txt';

const noRecordCode = 44;

/** How a command on the record ended. */
interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The words of a command that prints the record; `recordIn` says what its end means. */
export function readRecordCommand(): readonly string[] {
  return inRecordHome(`[ -e ${recordFile} ] || exit ${noRecordCode}\nhead -c ${longestRecord} ${recordFile}`);
}

/** The record that the command printed, undefined if there is none, or why it could not be read. */
export function recordIn({
  exitCode,
  stdout,
  stderr,
}: Ended): { readonly text?: string } | { readonly why: string } {
  if (exitCode === 0) return { text: stdout };
  return exitCode === noRecordCode
    ? {}
    : { why: `${recordFile} could not be read: ${endOf(exitCode, stderr)}` };
}

/** The words of a command that replaces the record by this text, on standard input, whole or not at all. */
export function writeRecordCommand(text: string): readonly string[] {
  return [...inRecordHome(writeProgram), String(new TextEncoder().encode(text).length)];
}

/** Why the command did not write the record; undefined if it did. */
export function whyNotWritten({ exitCode, stderr }: Ended): string | undefined {
  return exitCode === 0 ? undefined : `${recordFile} cannot be written: ${endOf(exitCode, stderr)}`;
}

function endOf(exitCode: number, stderr: string): string {
  return `exit code ${exitCode} ${stderr.trim().slice(0, 200)}`.trim();
}

/**
 * The words of a program in the folder of the record: root's home. Where the login is not root
 * and may not become root, or where the system knows another home of the login, so that root's
 * home may be shared, it is the login's home.
 */
export function inRecordHome(program: string): readonly string[] {
  return ['sh', '-c', asRoot, 'sh', `cd "\${HOME:?}" || exit 1\n${program}`];
}

const asRoot = `
program=$1; shift
own=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6) || own=
if [ "$(id -u)" != 0 ] && [ "$own" = "$HOME" ] && sudo -n true 2>/dev/null; then
  exec sudo -n -H sh -c "$program" sh "$@"
fi
exec sh -c "$program" sh "$@"
`;

const writeProgram = `
set -e
if [ -d ${recordFile} ]; then echo '${recordFile} is a directory' >&2; exit 1; fi
aside=${recordFile}.$$
trap 'rm -f "$aside"' EXIT
umask 022
cat >"$aside"
[ "$(wc -c <"$aside")" -eq "$1" ] || { echo 'it did not arrive whole' >&2; exit 1; }
mv -f "$aside" ${recordFile}
`;
