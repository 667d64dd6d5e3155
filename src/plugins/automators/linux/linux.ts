import {
  setTag,
  tags,
  parseCurrentImage,
  revisionOf,
  writeCurrentImage,
} from '../../../model/machine/current-image.js';
import {
  PluginError,
  type AccessInput,
  type AccountsOutcome,
  type AutomatorAbilities,
  type Knowledge,
  type Outcome,
  type RunOutcome,
  type SystemInput,
  type TaskResult,
  type Shell,
} from '../../contract.js';
import {
  inRecordHome,
  readRecordCommand,
  recordIn,
  whyNotWritten,
  writeRecordCommand,
} from '../../../model/machine/record-file.js';
import { UniformAutomator } from '../../uniform-automator.js';
import { grantAccess, revokeAccess } from './access.js';
import { captureHomeProgram, captureSystemProgram, processesLeft, sanitizeProgram } from './sanitize.js';

/** Linux on a machine whose images are loaded and captured. */
export class LinuxAutomator extends UniformAutomator implements AutomatorAbilities {
  /** Installs nothing: checks the commands that read and write the image record. */
  override async bootstrap(): Promise<void> {
    const check =
      'for word in cat cut head mv rm wc; do command -v "$word" >/dev/null || { echo "not found: $word" >&2; exit 1; }; done';
    const outcome = await this.shell.exec(['sh', '-c', check], { timeoutMs: 60_000 });
    if (outcome.exitCode === 0) return;
    throw new PluginError(
      'ScriptFailed',
      `BOOTSTRAP of ${this.task.nodeId}: ${outcome.stderr.trim() || `exit code ${outcome.exitCode}`}`,
      outcome,
    );
  }

  /** The image gets its record without tags: after each load the steps of `postLoad` are still to be done. */
  async preCapture(input: SystemInput): Promise<Outcome> {
    await writeRecord(this.shell, freshRecord(input));
    const wrong = 'the data of this machine could not be removed';
    const home = await this.#exec(wrong, captureHomeProgram);
    if (home.answer !== 'done') return home;
    const cleaned = this.#judge(
      wrong,
      await this.shell.exec(inRecordHome(captureSystemProgram), { timeoutMs: 120_000 }),
    );
    if (cleaned.answer !== 'done') return cleaned;
    // A home that is mounted from elsewhere, or reset, would leave an image without its record.
    const { revision } = (await readRecord(this.shell)) ?? {};
    return revision === input.image.revision
      ? cleaned
      : {
          answer: 'not done',
          why: `the record of the image was written, and then names ${revision ?? 'no revision'}`,
        };
  }

  /**
   * An installed image, unlike a captured one, has no record. A record of another image, or of
   * another revision of this one, is a failed load.
   */
  async postLoad(input: SystemInput): Promise<Outcome> {
    const found = await readRecord(this.shell);
    const { name, revision } = input.image;
    if (found?.revision !== undefined && (found.name !== name || found.revision !== revision))
      return {
        answer: 'not done',
        why: `its record names ${found.name || 'an image without a name'}@${found.revision}, not ${name}@${revision}`,
      };
    const text = found?.revision === undefined ? freshRecord(input) : found.text;
    await writeRecord(this.shell, setTag(text, tags.postLoad, 'success', input.at));
    return { answer: 'done' };
  }

  /** Flushes the disks before they are overwritten. */
  preReload(): Promise<Outcome> {
    return this.#exec('its disks could not be synchronised', 'sync');
  }

  /** Only a reset ends what the kernel or a service keeps alive, and it costs less than a load. */
  async sanitize({ user = '', resetNode }: SystemInput): Promise<Outcome> {
    const wrong = 'the data of its user could not be removed';
    const first = await this.#run(sanitizeProgram, [user]);
    if (first.exitCode !== processesLeft) return outcomeOf(wrong, first);
    this.log.warn(`${first.stderr.trim()}, so the machine is reset`);
    const { answer, why = 'no reason was given' } = await resetNode();
    if (answer !== 'done')
      return {
        answer,
        why: `${first.stderr.trim().slice(-300)}, and the reset that ends them failed: ${why}`,
      };
    return outcomeOf(wrong, await this.#run(sanitizeProgram, [user]));
  }

  /** A system whose home cannot be written differs from its image. */
  async checkImage(): Promise<Knowledge> {
    const { exitCode, stderr } = await this.shell.exec(
      ['sh', '-c', 'probe="${HOME:?}/.heddle-probe.$$"; echo probe >"$probe" && rm -f "$probe"'],
      { timeoutMs: 20_000 },
    );
    return exitCode === 0
      ? { is: 'yes' }
      : { is: 'no', why: `its home is not writable: ${stderr.trim().slice(-300)}` };
  }

  grantAccess(input: AccessInput): Promise<AccountsOutcome> {
    return grantAccess(this.shell, input, this.fields['sudo'] === true);
  }

  revokeAccess(input: AccessInput): Promise<AccountsOutcome> {
    return revokeAccess(this.shell, input);
  }

  async #exec(wrong: string, program: string): Promise<Outcome> {
    return this.#judge(wrong, await this.#run(program));
  }

  #judge(wrong: string, outcome: RunOutcome): Outcome {
    if (outcome.exitCode === 0 && outcome.stderr.trim() !== '')
      this.log.warn(outcome.stderr.trim().slice(-300));
    return outcomeOf(wrong, outcome);
  }

  #run(program: string, words: readonly string[] = []): Promise<RunOutcome> {
    return this.shell.exec(['sh', '-c', program, 'sh', ...words], { timeoutMs: 120_000 });
  }

  override async carryOut(script: string, data: string): Promise<TaskResult> {
    if (script.trim() === '')
      throw new PluginError(
        'Invalid',
        `automator linux: the ${this.task.taskName} script of ${this.task.service?.name ?? '-'} is empty`,
      );
    const outcome = await this.shell.run({ text: script, stdin: data });
    if (outcome.exitCode !== 0)
      throw new PluginError('ScriptFailed', `the script ended with exit code ${outcome.exitCode}`, outcome);
    return { result: outcome.results };
  }
}

function outcomeOf(wrong: string, { exitCode, stderr }: RunOutcome): Outcome {
  return exitCode === 0
    ? { answer: 'done' }
    : { answer: 'not done', why: `${wrong}: exit code ${exitCode} ${stderr.trim().slice(-300)}`.trim() };
}

function freshRecord({ image, machine, at }: SystemInput): string {
  return writeCurrentImage({
    name: image.name,
    id: `${image.name}@${image.revision}`,
    prettyName: image.name,
    revision: image.revision,
    createdAt: at,
    machineId: machine.id,
    hostname: machine.hostname,
  });
}

/** Undefined if there is none. */
async function readRecord(
  shell: Shell,
): Promise<{ readonly text: string; readonly name?: string; readonly revision?: string } | undefined> {
  const read = recordIn(await shell.exec(readRecordCommand(), { timeoutMs: 20_000 }));
  if ('why' in read) throw new PluginError('Retryable', read.why);
  if (read.text === undefined) return undefined;
  const record = parseCurrentImage(read.text);
  return { text: read.text, name: record?.name, revision: record && revisionOf(record) };
}

async function writeRecord(shell: Shell, text: string): Promise<void> {
  const why = whyNotWritten(await shell.exec(writeRecordCommand(text), { stdin: text, timeoutMs: 20_000 }));
  if (why !== undefined) throw new PluginError('Invalid', why);
}
