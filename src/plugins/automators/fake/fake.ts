import { z } from 'zod';
import { parseFields } from '../../automator-fields.js';
import { PluginError, failureKinds, type TaskResult } from '../../contract.js';
import { UniformAutomator } from '../../uniform-automator.js';

/**
 * Records starts and ends in $HOME/.heddle-fake, counts the runs of its kind there, and fails the first
 * FAKE_FAIL of them. Values come in the environment: none is part of shell text.
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
  echo "scripted to fail" >&2
  exit "$FAKE_EXIT_CODE"
fi
echo "ends $FAKE_NAME" >> "$folder/done"
`;

/** Does only what its fields say, to try a cluster, its failures and its recovery without any software. */
export class FakeAutomator extends UniformAutomator {
  override async bootstrap(): Promise<void> {
    const { exitCode, stderr } = await this.shell.exec(['sh', '-c', 'mkdir -p "$HOME/.heddle-fake"']);
    if (exitCode !== 0)
      throw new PluginError('ScriptFailed', `automator fake: cannot create its folder: ${stderr.trim()}`, {
        exitCode,
      });
  }

  override async carryOut(): Promise<TaskResult> {
    const { taskName, attempt, service } = this.task;
    const fields = parseFields('fake', fieldsSchema, this.actionFields);
    const name = `${service?.name ?? '-'}.${taskName}`;
    const goesWrong = attempt <= fields.attempts;
    if (goesWrong && fields.throw !== undefined)
      throw failureOf(
        fields.throw,
        `automator fake: ${name} fails as scripted with ${fields.throw}, attempt ${attempt}`,
      );
    const outcome = await this.shell.run({
      text: script,
      environment: {
        FAKE_NAME: name,
        FAKE_OUTPUT: fields.output,
        FAKE_HANG: String(fields.hang),
        FAKE_SECONDS: String(secondsOf(fields.for)),
        FAKE_FAIL: String(fields.fail),
        FAKE_EXIT_CODE: String(fields.exitCode),
      },
    });
    if (outcome.exitCode !== 0)
      throw new PluginError(
        'ScriptFailed',
        `automator fake: ${name} fails as scripted with exit code ${outcome.exitCode}`,
        outcome,
      );
    if (goesWrong && fields.loseAnswer)
      throw new PluginError(
        'Retryable',
        `automator fake: the response of ${name} was lost as scripted, attempt ${attempt}`,
        { retryAfterMs: 100 },
      );
    return { result: fields.results };
  }
}

const fieldsSchema = z.object({
  attempts: z.number().default(1),
  throw: z.string().optional(),
  output: z.string().default(''),
  hang: z.boolean().default(false),
  for: z.union([z.number(), z.string()]).default(0),
  fail: z.number().default(0),
  exitCode: z.number().default(1),
  loseAnswer: z.boolean().default(false),
  results: z.record(z.string(), z.json()).optional(),
});

function failureOf(kind: string, message: string): Error {
  const known = failureKinds.find((one) => one === kind);
  return known === undefined ? new Error(message) : new PluginError(known, message, { retryAfterMs: 100 });
}

const units: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };

/** A duration such as "1m30s", or a number, in seconds; the engine has checked it. */
function secondsOf(value: string | number): number {
  if (typeof value === 'number') return value;
  return [...value.matchAll(/([\d.]+)(ms|s|m|h|d)/g)].reduce(
    (sum, [, amount, unit = 's']) => sum + Number(amount) * (units[unit] ?? 1),
    0,
  );
}
