import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { z } from 'zod';
import { parseFields, textValue } from '../../automator-fields.js';
import { PluginError, type TaskResult } from '../../contract.js';
import { bringToNode } from '../../node-resource.js';
import { lastLine } from '../../node-tool.js';
import { UniformAutomator } from '../../uniform-automator.js';
import { composeScript } from './script.js';

/** Checks the commands that a run needs. */
const prepareNode = `
missing=
for word in cat chmod dd ls mkdir mv rm sleep; do command -v "$word" > /dev/null || missing="$missing $word"; done
if [ -n "$missing" ]; then echo "not found:$missing" >&2; exit 1; fi
umask 077
mkdir -p "$HOME/.heddle/runs"
`;

const fieldsSchema = z.object({
  scriptFile: z.string().optional(),
  scripts: z.string().optional(),
  file: z
    .string()
    .refine((path) => !path.startsWith('/') && !normalize(path).split('/').includes('..'), {
      error: 'is not a path inside scripts',
    })
    .optional(),
  arguments: z.array(textValue, { error: 'is not a list' }).default([]),
  environment: z
    .record(
      z.string().regex(/^(?!HEDDLE_)/, { error: 'is set by Heddle itself; use another name' }),
      textValue,
      { error: 'is not a mapping' },
    )
    .default({}),
  interpreter: z
    .string()
    .trim()
    .min(1, { error: 'is empty' })
    .transform((words): readonly string[] => words.split(/\s+/))
    .optional(),
  sudo: z.boolean().default(false),
  expectedExitCodes: z
    .array(z.int().min(0).max(255), { error: 'is not a list of exit codes from 0 to 255' })
    .min(1)
    .default([0]),
});
type ShellFields = z.output<typeof fieldsSchema>;

/** Carries out each action of a service by a script. */
export class ShellAutomator extends UniformAutomator {
  /** Installs nothing: creates the folder of runs, and checks for a POSIX shell. */
  override async bootstrap(): Promise<void> {
    const outcome = await this.shell.exec(['sh', '-c', prepareNode]);
    if (outcome.exitCode === 0) return;
    throw new PluginError(
      'ScriptFailed',
      `BOOTSTRAP of ${this.task.nodeId}: the node cannot run scripts: ${outcome.stderr.trim() || `exit code ${outcome.exitCode}`}`,
      outcome,
    );
  }

  override async carryOut(script: string, data: string): Promise<TaskResult> {
    const fields = parseFields('shell', fieldsSchema, this.actionFields);
    // Interpreters take the carriage returns of an editor on Windows for part of the words.
    const text = (await chooseScript(script, fields)).replaceAll('\r\n', '\n');
    const scripts = this.task.resources?.['scripts'];
    const folder = scripts === undefined ? undefined : await bringToNode(this.shell, scripts);
    const outcome = await this.shell.run(composeScript(this.task, text, data, fields, folder));
    const { exitCode, results } = outcome;
    if (!fields.expectedExitCodes.includes(exitCode)) {
      const last = lastLine(outcome);
      const said = last === '' ? 'and printed nothing' : `and last printed: ${last}`;
      throw new PluginError('ScriptFailed', `the script ended with exit code ${exitCode} ${said}`, outcome);
    }
    return { result: results };
  }
}

/** The script's text: the field itself, a file from the store, or a file of a folder from the store. */
async function chooseScript(
  script: string,
  { scriptFile, scripts, file }: Pick<ShellFields, 'scriptFile' | 'scripts' | 'file'>,
): Promise<string> {
  const given = Object.entries({ script: script || undefined, scriptFile, file })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  if (given.length > 1) throw invalid(`${given.join(' and ')} are set; set only one of them`);
  if (scriptFile !== undefined) return read(scriptFile, 'scriptFile');
  if (file === undefined) return script;
  if (scripts === undefined) throw invalid('file requires scripts');
  return read(join(scripts, file), file);
}

function read(path: string, name: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new PluginError('Invalid', `automator shell: file ${name} does not exist in the resource`, {
      cause,
    });
  });
}

function invalid(fault: string): PluginError {
  return new PluginError('Invalid', `automator shell: ${fault}`);
}
