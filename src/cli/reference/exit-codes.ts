import { exitCodeMeanings, exitCodes, exitsOfErrors } from '../errors.js';
import { interruptCodes } from '../interrupts.js';
import { code } from './markdown.js';

/** What the help does not say. */
const details: Readonly<Partial<Record<keyof typeof exitCodes, string>>> = {
  failed:
    'the operation failed, is held or was cancelled, or it ended without some nodes (unless `--accept-minimum`); a command of `exec` failed; an unexpected error; `doctor` found a problem; a file cannot be written because its disk is full, broken or read-only',
  usage: 'nothing was changed',
  refused:
    'the cluster is busy, locked, exists already, or is being deleted; the answer to a question was no; `heddle dev` already runs',
  notFound: 'no such cluster, pool, machine, node, service, request, task, log or plugin',
  interrupted: 'while waiting, by Ctrl-C, a plain kill or a closed terminal; the operation continues',
};

/** A row for each exit code, those of interrupts included. */
export function exitCodeRows(): readonly (readonly string[])[] {
  const { SIGPIPE: readerGone, ...signals } = interruptCodes;
  const interrupts = [...new Set(Object.values(signals))];
  return [
    ...Object.entries(exitCodes).map(([name, value]) => {
      const key = name as keyof typeof exitCodes;
      const more = details[key];
      return [
        value === exitCodes.interrupted ? interrupts.join(', ') : String(value),
        `${exitCodeMeanings[key]}${more === undefined ? '' : `: ${more}`}`,
      ];
    }),
    [
      String(readerGone),
      `the reader of the output ended while the command waited: as ${exitCodes.interrupted}. Commands that do not wait end then, with 0 or the code of their failure; without a reader of standard error they go on`,
    ],
  ];
}

export function errorCodeRows(): readonly (readonly string[])[] {
  return Object.entries(exitsOfErrors).map(([name, exit]) => [code(name), String(exitCodes[exit])]);
}
