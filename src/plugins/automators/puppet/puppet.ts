import { PluginError, type JsonObject, type TaskResult } from '../../contract.js';
import { isJsonObject } from '../../../model/json.js';
import { attendFunction } from '../../attend.js';
import { bringToNode } from '../../node-resource.js';
import { lastLine, prepareTool, searchPath, type NodeTool } from '../../node-tool.js';
import { taskEnvironment } from '../../task-environment.js';
import { UniformAutomator } from '../../uniform-automator.js';

const puppet: NodeTool = {
  name: 'puppet',
  commands: ['puppet'],
  folders: ['/opt/puppetlabs/bin'],
  packages: { apt: 'puppet-agent', dnf: 'puppet-agent', zypper: 'puppet-agent', apk: 'puppet' },
  advice: 'choose an image with puppet-agent, or with a package source that has it',
};

/** Exit codes are Puppet's detailed ones, so that what was changed and what failed are told apart. */
const apply = `${attendFunction}
PATH=$PATH:$TOOL_PATH
manifest=$HEDDLE_RUN/site.pp
umask 077
cat > "$manifest" || exit
set -- apply --detailed-exitcodes --color=false --logdest=console
if [ -n "$MODULE_PATH" ]; then set -- "$@" "--modulepath=$MODULE_PATH"; fi
unset TOOL_PATH MODULE_PATH
# An exec of Puppet has no HOME.
export FACTER_heddle_home="$HOME"
attend puppet "$@" "$manifest"
code=$?
rm -f "$manifest"
exit "$code"
`;

/** Carries out each action of a service by a manifest of its own. */
export class PuppetAutomator extends UniformAutomator {
  override async bootstrap(): Promise<void> {
    await prepareTool(this.shell, puppet);
  }

  override async carryOut(_script: string, data: string): Promise<TaskResult> {
    const { manifest, modulePath = '', facts = {}, sudo = true } = this.task.service?.action.fields ?? {};
    if (typeof manifest !== 'string' || manifest.trim() === '') throw invalid('manifest', 'is empty');
    const brought = this.task.resources?.['modulePath'];
    const modules = brought === undefined ? modulePath : await bringToNode(this.shell, brought);
    const outcome = await this.shell.run({
      text: apply,
      stdin: manifest,
      sudo: sudo === true,
      environment: {
        ...taskEnvironment(this.task),
        ...this.#facts(facts, data),
        TOOL_PATH: searchPath(puppet),
        MODULE_PATH: typeof modules === 'string' ? modules : '',
      },
    });
    const { exitCode, stdout, stderr, results } = outcome;
    if (exitCode !== 0 && exitCode !== 2) {
      const failed =
        exitCode === 6
          ? 'changed some resources and failed with others'
          : exitCode === 4
            ? 'failed with some resources'
            : `ended with exit code ${exitCode}`;
      // Facts that could not be had are no failure of the manifest, and each error is said twice.
      const errors = [...stderr.split('\n'), ...stdout.split('\n')].filter((line) =>
        /^Error: (?!Facter:)/.test(line),
      );
      throw new PluginError(
        'ScriptFailed',
        `Puppet ${failed}: ${[...new Set(errors)].slice(0, 3).join('; ') || lastLine(outcome)}`,
        { exitCode, stdout, stderr },
      );
    }
    this.log.info(
      exitCode === 2
        ? 'Puppet changed what was not as the manifest says'
        : 'Puppet found everything as the manifest says',
    );
    return results === undefined ? {} : { result: results };
  }

  /** Facter takes variables that begin with FACTER_ for facts. */
  #facts(facts: unknown, data: string): Record<string, string> {
    if (!isJsonObject(facts)) throw invalid('facts', 'is not a mapping');
    const own = Object.fromEntries(
      Object.entries(taskEnvironment(this.task)).map(([name, value]) => [
        `FACTER_${name.toLowerCase()}`,
        value,
      ]),
    );
    return { ...readFacts(facts), ...own, FACTER_heddle_data: data };
  }
}

function readFacts(facts: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => {
      if (!/^[a-z][a-z0-9_]*$/.test(name) || name.startsWith('heddle_'))
        throw invalid(
          `facts.${name}`,
          'is no name for a fact: lower-case letters, digits and underscores, not heddle_',
        );
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
        return [`FACTER_${name}`, String(value)];
      throw invalid(`facts.${name}`, 'is not a text, a number or true or false');
    }),
  );
}

function invalid(field: string, fault: string): PluginError {
  return new PluginError('Invalid', `automator puppet: field ${field} ${fault}`);
}
