import { longestRecord } from './current-image.js';

/** The record of the image is `currentimage.txt` in root's home, as on older systems. */
export const recordFile = 'currentimage.txt';

/** Exit code of `readRecord` where there is no record. */
export const noRecordCode = 44;

/** The words of a command that prints the record. */
export function readRecord(): readonly string[] {
  return inRecordHome(`[ -e ${recordFile} ] || exit ${noRecordCode}\nhead -c ${longestRecord} ${recordFile}`);
}

/** The words of a command that replaces the record by standard input, whole or not at all. */
export function writeRecord(bytes: number): readonly string[] {
  return [...inRecordHome(writeProgram), String(bytes)];
}

/**
 * The words of a program in the folder of the record: root's home. Where the login is not root and may not become root,
 * or where the system knows another home of the login, so that root's home may be shared, it is the login's home.
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
