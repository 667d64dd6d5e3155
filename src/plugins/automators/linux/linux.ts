import {
  PluginError,
  type AccessInput,
  type AccountsOutcome,
  type CanGrantAccess,
  type Knowledge,
  type Outcome,
  type SystemInput,
  type SystemPart,
  type TaskResult,
} from '../../contract.js';
import { UniformAutomator } from '../../uniform-automator.js';
import { grantAccess, revokeAccess } from './access.js';
import { capturePrograms, freshRecord, postLoadTag, readRecord, writeRecord } from './record.js';
import { sanitizeProgram } from './sanitize.js';

/** Linux on a machine whose images are loaded and captured. */
export class LinuxAutomator extends UniformAutomator implements SystemPart, CanGrantAccess {
  /** Nothing is installed: sees that there is what a record is read and written with. */
  override async bootstrap(): Promise<void> {
    const { exitCode, stdout, stderr } = await this.shell.exec(
      [
        'sh',
        '-c',
        'for word in head rm cut; do command -v "$word" >/dev/null || { echo "not found: $word" >&2; exit 1; }; done',
      ],
      { timeoutMs: 60_000 },
    );
    if (exitCode !== 0)
      throw new PluginError(
        'ScriptFailed',
        `BOOTSTRAP of ${this.task.nodeId}: ${stderr.trim() || `exit code ${exitCode}`}`,
        { stdout, stderr, exitCode },
      );
  }

  /**
   * The record goes into the image, without tags: wherever it is loaded, the steps after loading are still to
   * be done.
   */
  async preCapture(input: SystemInput): Promise<Outcome> {
    await writeRecord(this.shell, freshRecord(input));
    return this.#exec('what belongs to this one machine could not be taken out', capturePrograms);
  }

  /**
   * An image that was installed, not captured, brings no record; one that names another revision is not what
   * was wanted.
   */
  async postLoad(input: SystemInput): Promise<Outcome> {
    const found = await readRecord(this.shell);
    if (found?.revision !== undefined && found.revision !== input.image.revision) {
      return {
        answer: 'not done',
        why: `its record names revision ${found.revision}, not ${input.image.revision}`,
      };
    }
    await writeRecord(
      this.shell,
      postLoadTag(found?.revision === undefined ? freshRecord(input) : found.text, input.at),
    );
    return { answer: 'done' };
  }

  /** What is about to be overwritten is written out, so that nothing hangs in the middle of it. */
  preReload(): Promise<Outcome> {
    return this.#exec('its disks could not be synchronised', 'sync');
  }

  async sanitize({ user = '' }: SystemInput): Promise<Outcome> {
    return this.#exec('what its user left could not be taken out', sanitizeProgram, [user]);
  }

  /** A system whose home takes no file is not as its image was. */
  async checkImage(): Promise<Knowledge> {
    const { exitCode, stderr } = await this.shell.exec(
      ['sh', '-c', 'probe="${HOME:?}/.heddle-probe.$$"; echo probe >"$probe" && rm -f "$probe"'],
      { timeoutMs: 20_000 },
    );
    return exitCode === 0
      ? { is: 'yes' }
      : { is: 'no', why: `its home cannot be written: ${stderr.trim().slice(-300)}` };
  }

  grantAccess(input: AccessInput): Promise<AccountsOutcome> {
    return grantAccess(this.shell, input, this.fields['sudo'] === true);
  }

  revokeAccess(input: AccessInput): Promise<AccountsOutcome> {
    return revokeAccess(this.shell, input);
  }

  async #exec(wrong: string, program: string, words: readonly string[] = []): Promise<Outcome> {
    const { exitCode, stderr } = await this.shell.exec(['sh', '-c', program, 'sh', ...words], {
      timeoutMs: 120_000,
    });
    return exitCode === 0
      ? { answer: 'done' }
      : { answer: 'not done', why: `${wrong}: exit code ${exitCode} ${stderr.trim().slice(-300)}`.trim() };
  }

  override async carryOut(script: string, data: string): Promise<TaskResult> {
    if (script.trim() === '')
      throw new PluginError(
        'Invalid',
        `automator linux: the ${this.task.taskName} script of ${this.task.service?.name ?? '-'} is empty`,
      );
    const { exitCode, stdout, stderr, results } = await this.shell.run({ text: script, stdin: data });
    if (exitCode !== 0)
      throw new PluginError('ScriptFailed', `the script ended with exit code ${exitCode}`, {
        stdout,
        stderr,
        exitCode,
      });
    return results === undefined ? {} : { result: results };
  }
}
