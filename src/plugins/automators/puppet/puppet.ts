import { z } from 'zod';
import { parseFields } from '../../automator-fields.js';
import { PluginError, type TaskResult } from '../../contract.js';
import { bringToNode } from '../../node-resource.js';
import { lastLine, prepareTool, runUntilTerminated, searchPath, type NodeTool } from '../../node-tool.js';
import { taskEnvironment } from '../../task-environment.js';
import { UniformAutomator } from '../../uniform-automator.js';

const puppet: NodeTool = {
  name: 'puppet',
  commands: ['puppet'],
  folders: ['/opt/puppetlabs/bin'],
  packages: { apt: 'puppet-agent', dnf: 'puppet-agent', zypper: 'puppet-agent', apk: 'puppet' },
  advice: 'choose an image with puppet-agent, or with a package source that has it',
};

const apply = `${runUntilTerminated}
PATH=$PATH:$TOOL_PATH
manifest=$HEDDLE_RUN/site.pp
umask 077
cat > "$manifest" || exit
set -- apply --detailed-exitcodes --color=false --logdest=console
if [ -n "$MODULE_PATH" ]; then set -- "$@" "--modulepath=$MODULE_PATH"; fi
unset TOOL_PATH MODULE_PATH
# An exec of Puppet has no HOME.
export FACTER_heddle_home="$HOME"
run_until_terminated puppet "$@" "$manifest"
code=$?
rm -f "$manifest"
exit "$code"
`;

/** Puppet's detailed exit codes other than 0. */
const changed = 2;
const failures: Readonly<Record<number, string>> = {
  4: 'failed with some resources',
  6: 'changed some resources and failed with others',
};

const fact = z.union([z.string(), z.number(), z.boolean()], {
  error: 'must be text, a number, or true or false',
});
const fieldsSchema = z.object({
  manifest: z.string({ error: 'is empty' }).regex(/\S/, { error: 'is empty' }),
  modulePath: z.string().default(''),
  facts: z
    .record(
      z
        .string()
        .regex(/^(?!heddle_)[a-z][a-z0-9_]*$/, {
          error:
            'is not a valid fact name: use lower-case letters, digits and underscores, not beginning with heddle_',
        }),
      fact,
      { error: 'is not a mapping' },
    )
    .default({}),
  sudo: z.boolean().default(true),
});

/** Carries out each action of a service by a manifest. */
export class PuppetAutomator extends UniformAutomator {
  override async bootstrap(): Promise<void> {
    await prepareTool(this.shell, puppet);
  }

  override async carryOut(_script: string, data: string): Promise<TaskResult> {
    const { manifest, modulePath, facts, sudo } = parseFields('puppet', fieldsSchema, this.actionFields);
    const modules = this.task.resources?.['modulePath'];
    const environment = taskEnvironment(this.task);
    const outcome = await this.shell.run({
      text: apply,
      stdin: manifest,
      sudo,
      environment: {
        ...environment,
        ...asFacts(facts),
        ...asFacts(environment),
        FACTER_heddle_data: data,
        TOOL_PATH: searchPath(puppet),
        MODULE_PATH: modules === undefined ? modulePath : await bringToNode(this.shell, modules),
      },
    });
    const { exitCode, stdout, stderr, results } = outcome;
    if (exitCode !== 0 && exitCode !== changed) {
      // Facts that cannot be collected do not fail the manifest. Puppet prints each error twice.
      const errors = `${stderr}\n${stdout}`.split('\n').filter((line) => /^Error: (?!Facter:)/.test(line));
      const failed = failures[exitCode] ?? `ended with exit code ${exitCode}`;
      throw new PluginError(
        'ScriptFailed',
        `Puppet ${failed}: ${[...new Set(errors)].slice(0, 3).join('; ') || lastLine(outcome)}`,
        outcome,
      );
    }
    this.log.info(
      exitCode === changed
        ? 'Puppet changed resources to match the manifest'
        : 'Puppet found all resources matching the manifest',
    );
    return { result: results };
  }
}

/** Facter reads variables that begin with FACTER_ as facts. */
function asFacts(values: Readonly<Record<string, string | number | boolean>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`FACTER_${name.toLowerCase()}`, String(value)]),
  );
}
