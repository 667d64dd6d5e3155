import {
  addTaint,
  parseCurrentImage,
  postLoadOf,
  revisionOf,
  taintReasons,
  isTainted,
  type CurrentImage,
} from '../../model/machine/current-image.js';
import {
  readRecordCommand,
  recordIn,
  whyNotWritten,
  writeRecordCommand,
} from '../../model/machine/record-file.js';
import { markCommand, markFile, readMarkCommand } from '../../model/machine/load-mark.js';
import type { RecordView } from '../../model/machine/messages.js';
import { PluginError } from '../../plugins/errors.js';
import type { Shell } from '../../plugins/contract.js';
import { reachNode, fenceOf } from '../automator/automator-task.js';
import { runId } from '../../model/names.js';
import type { MachineHandler, MachineCall } from '../task-call.js';

/**
 * Reads the record; undefined if the machine reports that there is none.
 * @throws PluginError Retryable if the machine cannot be asked.
 */
export async function readRecordText(shell: Shell): Promise<string | undefined> {
  const read = recordIn(await shell.exec(readRecordCommand(), { timeoutMs: 20_000 }));
  if ('why' in read) throw new PluginError('Retryable', read.why);
  return read.text;
}

export async function openShell({ parts, request, attempt }: MachineCall): Promise<Shell> {
  const node = await reachNode(parts, request, attempt);
  return parts.nodes.shell(node.address, {
    runId: runId(request),
    signal: attempt.signal,
    detach: attempt.detach,
    log: attempt.log,
    fence: fenceOf(request),
    claims: attempt.claims,
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
  MARK_DISK: async (call) => {
    const shell = await openShell(call);
    call.attempt.at('marks the disk that is about to be written');
    const stdin = tokenOf(call);
    const { exitCode, stderr } = await shell.exec(markCommand(), { stdin, timeoutMs: 20_000 });
    if (exitCode !== 0)
      throw new PluginError('Invalid', `${markFile} cannot be written: ${stderr.trim().slice(0, 200)}`);
    return {};
  },
  CHECK_MARK: async (call) => {
    const shell = await openShell(call);
    call.attempt.at('checks that the disk has changed');
    const { exitCode, stdout, stderr } = await shell.exec(readMarkCommand(), { timeoutMs: 20_000 });
    if (exitCode !== 0)
      throw new PluginError('Retryable', `${markFile} cannot be read: ${stderr.trim().slice(0, 200)}`);
    const text = await readRecordText(shell);
    return {
      mark: stdout.trim() === tokenOf(call) ? 'present' : 'absent',
      record: viewOf(text === undefined ? undefined : parseRecord(text)),
    };
  },
  TAINT: async (call) => {
    const shell = await openShell(call);
    const { reason = 'no reason given', at } = call.request.order;
    call.attempt.at('marks the image as tainted');
    const text = addTaint((await readRecordText(shell)) ?? '', reason, at);
    const why = whyNotWritten(await shell.exec(writeRecordCommand(text), { stdin: text, timeoutMs: 20_000 }));
    if (why !== undefined) throw new PluginError('Invalid', why);
    return { record: viewOf(parseRecord(text)) };
  },
} as const satisfies Readonly<Record<string, MachineHandler>>;

function tokenOf({ request: { order, taskId } }: MachineCall): string {
  if (order.token === undefined) throw new PluginError('Invalid', `task ${taskId} has no load token`);
  return order.token;
}
