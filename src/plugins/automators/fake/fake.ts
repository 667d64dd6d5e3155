import { isJsonObject } from '../../../model/json.js';
import { PluginError, failureKinds, type JsonObject, type TaskResult } from '../../contract.js';
import { UniformAutomator } from '../../uniform-automator.js';

/**
 * Writes into $HOME/.heddle-fake what begins and what ends, counts the runs of its kind there, and fails as
 * many as it was told to. Words come by the environment: no value is ever part of shell text.
 */
const script = `
folder=$HOME/.heddle-fake
mkdir -p "$folder"
echo "begins $FAKE_NAME" >> "$folder/done"
printf %s "$FAKE_OUTPUT"
while [ "$FAKE_HANG" = true ]; do sleep 1; done
sleep "$FAKE_SECONDS"
echo x >> "$folder/runs.$FAKE_NAME"
if [ "$(wc -l < "$folder/runs.$FAKE_NAME")" -le "$FAKE_FAIL" ]; then
  echo "fails $FAKE_NAME" >> "$folder/done"
  echo "told to fail" >&2
  exit "$FAKE_EXIT_CODE"
fi
echo "ends $FAKE_NAME" >> "$folder/done"
`;

/**
 * Does nothing but what its fields script: for trying a cluster, its failures and its recovery, without any
 * software.
 */
export class FakeAutomator extends UniformAutomator {
  override async bootstrap(): Promise<void> {
    const { exitCode, stderr } = await this.shell.exec(['sh', '-c', 'mkdir -p "$HOME/.heddle-fake"']);
    if (exitCode !== 0)
      throw new PluginError('ScriptFailed', `automator fake: its folder cannot be made: ${stderr.trim()}`, {
        exitCode,
      });
  }

  override async carryOut(): Promise<TaskResult> {
    const { taskName, attempt, service } = this.task;
    const fields = service?.action.fields ?? {};
    const name = `${service?.name ?? '-'}.${taskName}`;
    const goesWrong = attempt <= numberOf(fields, 'attempts', 1);
    const kind = fields['throw'];
    if (goesWrong && typeof kind === 'string')
      throw failureOf(kind, `automator fake: ${name} was told to fail as ${kind}, attempt ${attempt}`);
    const { exitCode, stdout, stderr } = await this.shell.run({
      text: script,
      environment: {
        FAKE_NAME: name,
        FAKE_OUTPUT: typeof fields['output'] === 'string' ? fields['output'] : '',
        FAKE_HANG: String(fields['hang'] === true),
        FAKE_SECONDS: String(secondsOf(fields['for'])),
        FAKE_FAIL: String(numberOf(fields, 'fail', 0)),
        FAKE_EXIT_CODE: String(numberOf(fields, 'exitCode', 1)),
      },
    });
    if (exitCode !== 0)
      throw new PluginError(
        'ScriptFailed',
        `automator fake: ${name} was told to fail with exit code ${exitCode}`,
        { exitCode, stdout, stderr },
      );
    if (goesWrong && fields['loseAnswer'] === true)
      throw new PluginError(
        'Retryable',
        `automator fake: the answer of ${name} was lost, attempt ${attempt}`,
        { retryAfterMs: 100 },
      );
    return isJsonObject(fields['results']) ? { result: fields['results'] } : {};
  }
}

function failureOf(kind: string, message: string): Error {
  const known = failureKinds.find((one) => one === kind);
  return known === undefined ? new Error(message) : new PluginError(known, message, { retryAfterMs: 100 });
}

function numberOf(fields: JsonObject, key: string, otherwise: number): number {
  const value = fields[key];
  return typeof value === 'number' ? value : otherwise;
}

const units: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

/** A duration such as "1m30s", or a number, in seconds; what is no duration was refused before. */
function secondsOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return 0;
  return [...value.matchAll(/([\d.]+)(ms|s|m|h|d)/g)].reduce(
    (sum, [, amount, unit = 's']) => sum + Number(amount) * (units[unit] ?? 1),
    0,
  );
}
