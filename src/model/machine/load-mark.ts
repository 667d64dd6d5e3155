import { inRecordHome } from './record-file.js';

/**
 * Beside the record of the image: names the load that is about to overwrite the disk. A machine
 * that still has it after the load has booted the old disk.
 */
export const markFile = '.heddle-load';

/** The words of a command that leaves the token, on standard input, on the disk itself. */
export function markCommand(): readonly string[] {
  return inRecordHome(`umask 022; cat >${markFile} && sync`);
}

/** The words of a command that prints the token of the last load that marked this disk, if there is one. */
export function readMarkCommand(): readonly string[] {
  return inRecordHome(`if [ -e ${markFile} ]; then head -c 1024 ${markFile}; fi`);
}
