import { PluginError, type TaskResult } from '../../contract.js';
import { UniformAutomator } from '../../uniform-automator.js';
import { composeScript } from './compose.js';
import { readFields } from './fields.js';
import { chooseScript } from './script.js';

/**
 * Commands that runs on a node need; what a POSIX system without them lacks is said before anything else
 * fails.
 */
const prepareNode = `
missing=
for word in cat chmod dd ls mkdir mv rm sleep; do command -v "$word" > /dev/null || missing="$missing $word"; done
if [ -n "$missing" ]; then echo "not found:$missing" >&2; exit 1; fi
umask 077
mkdir -p "$HOME/.heddle/runs"
`;

/** Carries out each action of a service by a script of its own. */
export class ShellAutomator extends UniformAutomator {
  /** Nothing is installed: makes the folder for runs, and sees that there is a POSIX shell. */
  override async bootstrap(): Promise<void> {
    const { exitCode, stdout, stderr } = await this.shell.exec(['sh', '-c', prepareNode]);
    if (exitCode === 0) return;
    const said = stderr.trim() || `exit code ${exitCode}`;
    throw new PluginError(
      'ScriptFailed',
      `BOOTSTRAP of ${this.task.nodeId}: the node cannot run scripts: ${said}`,
      { stdout, stderr, exitCode },
    );
  }

  override async carryOut(script: string, data: string): Promise<TaskResult> {
    const fields = readFields(this.task.service?.action.fields ?? {});
    const { text, folder } = await chooseScript(this.task, script, this.shell);
    const { exitCode, stdout, stderr, results } = await this.shell.run(
      composeScript(this.task, text, data, { ...fields, ...(folder === undefined ? {} : { folder }) }),
    );
    if (!fields.expectedExitCodes.includes(exitCode)) {
      const last = (stderr.trim() || stdout.trim()).split('\n').at(-1)?.slice(-300) ?? '';
      const said = last === '' ? 'and printed nothing' : `and last printed: ${last}`;
      throw new PluginError('ScriptFailed', `the script ended with exit code ${exitCode} ${said}`, {
        stdout,
        stderr,
        exitCode,
      });
    }
    // The output went to the task's log as it came.
    return results === undefined ? {} : { result: results };
  }
}
