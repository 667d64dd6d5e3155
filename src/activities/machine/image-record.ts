import {
  addTaint,
  longestRecord,
  parseCurrentImage,
  postLoadOf,
  revisionOf,
  taintReasons,
  isTainted,
  type CurrentImage,
} from '../../model/machine/current-image.js';
import type { RecordView } from '../../model/machine/messages.js';
import { PluginError } from '../../plugins/errors.js';
import type { Shell } from '../../plugins/contract.js';
import { reachNode, turnOf } from '../automator/automator-task.js';
import { runId } from '../../model/names.js';
import type { MachineHandler, MachineCall } from '../task-call.js';

/** In the home folder of the login user, which is root's if root logs in. */
const fileName = 'currentimage.txt';
const missingCode = 44;
const readProgram = `file="\${HOME:?}/${fileName}"; if [ -f "$file" ]; then head -c ${longestRecord} "$file"; elif [ -e "$file" ]; then exit 45; else exit ${missingCode}; fi`;

/**
 * Reads the record; undefined if the machine reports that there is none.
 * @throws PluginError Retryable if the machine cannot be asked.
 */
export async function readRecordText(shell: Shell): Promise<string | undefined> {
  const { exitCode, stdout, stderr } = await shell.exec(['sh', '-c', readProgram], { timeoutMs: 20_000 });
  if (exitCode === 0) return stdout;
  if (exitCode === missingCode) return undefined;
  throw new PluginError(
    'Retryable',
    `${fileName} could not be read: exit code ${exitCode} ${stderr.slice(0, 200)}`.trim(),
  );
}

export async function openShell({ parts, task, request, attempt }: MachineCall): Promise<Shell> {
  const node = await reachNode(parts, request, attempt);
  return parts.nodes.shell(node.address, {
    runId: runId(task.taskId, request.run),
    signal: attempt.signal,
    detach: attempt.detach,
    log: attempt.log,
    turn: turnOf(request),
    onOutput: () => undefined,
  });
}

/** A file that says nothing at all is a record that names nothing. */
export function parseRecord(text: string): CurrentImage {
  return parseCurrentImage(text) ?? { name: '', values: {} };
}

export function viewOf(record: CurrentImage | undefined): RecordView {
  if (record === undefined) return { name: null, revision: null, tainted: null, postLoad: null };
  return {
    name: record.name === '' ? null : record.name,
    revision: revisionOf(record) ?? null,
    tainted: isTainted(record) ? taintReasons(record) : null,
    postLoad: postLoadOf(record) ?? null,
  };
}

export const recordVerbs = {
  GET_CURRENT_IMAGE: async (call) => {
    call.attempt.at('reads the record of the image');
    const text = await readRecordText(await openShell(call));
    return { record: viewOf(text === undefined ? undefined : parseRecord(text)) };
  },
  TAINT: async (call) => {
    const shell = await openShell(call);
    const { reason = 'no reason given', at } = call.request.order;
    call.attempt.at('marks the image as tainted');
    const text = addTaint((await readRecordText(shell)) ?? '', reason, at);
    const home = await shell.exec(['sh', '-c', 'printf %s "${HOME:?}"']);
    if (home.exitCode !== 0)
      throw new PluginError(
        'Retryable',
        `the home folder of the machine is not known: ${home.stderr.slice(0, 200)}`,
      );
    await shell.putFile(`${home.stdout}/${fileName}`, text, { mode: 0o644 });
    return { record: viewOf(parseRecord(text)) };
  },
} as const satisfies Readonly<Record<string, MachineHandler>>;
