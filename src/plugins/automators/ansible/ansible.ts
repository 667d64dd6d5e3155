import { anySignal } from '../../../model/signals.js';
import { PluginError, type AutomatorParts, type PluginContext, type TaskResult } from '../../contract.js';
import { UniformAutomator } from '../../uniform-automator.js';
import type { PlayStory } from './events.js';
import { readFields, readSettings, type AnsibleFields } from './fields.js';
import { endWatch, fenceEarlierAttempts, readRecord, type NodeRecord } from './node-record.js';
import { endedNote, readNote, toResult, type Outcome } from './note.js';
import { play } from './play.js';
import type { ToolEnd } from './tool.js';
import { isStoppedOnNode, reasonOf, watchPlay } from './watch.js';

const pythonVersion =
  'import sys; print("%d.%d" % sys.version_info[:2]); sys.exit(0 if sys.version_info >= (3, 8) else 3)';

/** Longest note, in characters of its JSON; a longer result is refused anyway. */
const maxNote = 32 * 1024;

/** Carries out each action of a service by a playbook or a role, played by ansible-core on the worker. */
export class AnsibleAutomator extends UniformAutomator {
  readonly #parts: AutomatorParts & Pick<PluginContext, 'detach' | 'note'>;

  constructor(context: PluginContext & AutomatorParts) {
    super(context);
    this.#parts = context;
  }

  /** Installs nothing: checks for the Python that Ansible's modules need. */
  override async bootstrap(): Promise<void> {
    readSettings(this.fields);
    const find = 'command -v python3 > /dev/null || exit 127; exec python3 -c "$1"';
    const outcome = await this.shell.exec(['sh', '-c', find, 'heddle', pythonVersion]);
    const { exitCode, stdout, stderr } = outcome;
    if (exitCode === 0) return;
    const fault =
      exitCode === 127
        ? 'has no python3'
        : exitCode === 3
          ? `has Python ${stdout.trim()}, but ansible-core requires 3.8 or newer`
          : `cannot run python3: ${stderr.trim()}`;
    throw new PluginError(
      'ScriptFailed',
      `BOOTSTRAP of ${this.task.nodeId}: the node ${fault}; choose an image with Python`,
      outcome,
    );
  }

  override async carryOut(_script: string, data: string): Promise<TaskResult> {
    const fields = readFields(this.actionFields);
    readSettings(this.fields);
    const { note } = this.#parts;
    const noted = readNote(note?.before);
    if (noted?.state === 'ended') return toResult(noted.outcome);
    const record = await readRecord(this.shell);
    const interrupted = noted !== undefined || record.traces;
    // A first attempt that finds traces was requested by a person, who has looked.
    if (interrupted && this.task.attempt > 1 && fields.interrupted === 'hold')
      throw new PluginError(
        'UnknownOutcome',
        'a worker died during the play, and its progress is unknown: ' +
          'check the node, then retry or delete',
      );
    if (interrupted)
      this.log.warn('an earlier attempt was interrupted: the playbook is run again from its start');
    // A node may hide its traces, so the server records the attempt before anything is sent there.
    await note?.write({ state: 'begun' });
    await fenceEarlierAttempts(this.shell, record);
    const watch = watchPlay(this.shell, record);
    const outcome = await this.#play(record, fields, data, watch.stopped).catch(
      (error: unknown) => ({ ok: false, error }) as const,
    );
    const isStopped = this.signal.aborted || watch.stopped.aborted;
    if (isStopped || (!outcome.ok && (await isStoppedOnNode(this.shell, record.id)))) {
      await watch.ended;
      this.signal.throwIfAborted();
      throw reasonOf(watch.stopped);
    }
    if ('error' in outcome) throw outcome.error;
    await endWatch(this.shell, record);
    const written = await watch.ended;
    const ended: Outcome = outcome.ok ? { ...outcome, result: { ...written, ...outcome.result } } : outcome;
    await this.#noteEnd(ended);
    return toResult(ended);
  }

  /** A failure to record is tolerated: the outcome itself is recorded next, as the result of the task. */
  async #noteEnd(outcome: Outcome): Promise<void> {
    const ended = endedNote(outcome);
    if (JSON.stringify(ended).length > maxNote) return;
    await this.#parts.note?.write(ended).catch((error: unknown) => {
      if (this.signal.aborted || this.#parts.detach?.aborted === true) throw error;
      this.log.warn(
        `later attempts will not see the outcome: ${error instanceof Error ? error.message : String(error)}`,
      );
    });
  }

  async #play(
    { place }: NodeRecord,
    fields: AnsibleFields,
    data: string,
    stopped: AbortSignal,
  ): Promise<Outcome> {
    const { task, log } = this;
    const { address, detach, print = async () => undefined } = this.#parts;
    if (address === undefined)
      throw new PluginError('Invalid', 'automator ansible has no login for the node');
    const signal = anySignal([this.signal, stopped, ...(detach === undefined ? [] : [detach])]);
    const settings = readSettings(this.fields);
    // A folder from the store replaces the administrator's.
    const folder = task.resources?.['from']?.path ?? settings.folder;
    const { story, end } = await play({
      ...{ task, address, fields, data, place, log, print, signal },
      settings: { ...settings, folder },
    });
    if (detach?.aborted === true)
      throw new PluginError(
        'Retryable',
        'the play was interrupted because this worker is shutting down; another worker runs it again',
      );
    const { transcript: stdout, custom: result } = story;
    if (signal.aborted)
      return { ok: false, message: 'the play was ended', exitCode: 143, stdout, stderr: end.said };
    return end.exitCode === 0 && story.played ? { ok: true, result } : failureOf(story, end);
  }
}

/** @throws PluginError if another attempt may help, or nothing was begun. */
function failureOf(story: PlayStory, { exitCode, said }: ToolEnd): Outcome {
  const { failed, unreachable, tasks, played, transcript } = story;
  const output = { stdout: transcript, stderr: said };
  if (failed !== undefined) {
    const why = failed.message || failed.stderr || failed.stdout;
    // This is how ansible-core refuses to send a password to a server with an unknown key.
    if (tasks === 1 && why.includes('Host Key checking is enabled')) throw otherKey(why);
    const message = `TASK [${failed.task}] failed: ${why.slice(-2_000)}`;
    return { ok: false, message, exitCode: failed.rc ?? exitCode, ...output };
  }
  if (unreachable !== undefined) {
    // The jump host's connection writes its errors to the output.
    const why = [unreachable, said.trim()].filter((words) => words !== '').join('; ');
    if (/Host key verification failed|No .*host key is known/i.test(why)) throw otherKey(why);
    if (/Permission denied|Authentication fail|Invalid\/incorrect password/i.test(why))
      throw new PluginError('Auth', `the login was refused: ${why}`);
    throw new PluginError('Retryable', `Ansible does not reach the node: ${why}`, output);
  }
  const why = said.trim().slice(-2_000);
  if (tasks > 0) {
    const message = `the play ended with ${exitCode} after ${tasks} tasks: ${why}`;
    return { ok: false, message, exitCode, ...output };
  }
  if (exitCode === 0 && !played)
    throw new PluginError(
      'Invalid',
      'no play of the playbook matches this node: check its `hosts`, which may be all, group_GROUP or service_SERVICE',
      output,
    );
  throw new PluginError('Invalid', `the playbook cannot be run (exit code ${exitCode}): ${why}`, output);
}

function otherKey(why: string): PluginError {
  return new PluginError('Invalid', `the node or its jump host presented an unexpected host key: ${why}`);
}
