import { isJsonObject } from '../../../model/json.js';
import { mergePayload } from '../../../model/node/payload.js';
import { attendFunction } from '../../attend.js';
import { PluginError, type JsonObject, type TaskResult } from '../../contract.js';
import { bringToNode } from '../../node-resource.js';
import { lastLine, prepareTool, searchPath, type NodeTool } from '../../node-tool.js';
import { taskEnvironment } from '../../task-environment.js';
import { UniformAutomator } from '../../uniform-automator.js';

const solo: NodeTool = {
  name: 'chef',
  commands: ['cinc-solo', 'chef-solo'],
  folders: ['/opt/cinc/bin', '/opt/chef/bin'],
  advice: 'choose an image with Cinc or Chef Infra Client',
};

/** The configuration and the attributes come on standard input, each as long as its size says. */
const run = `${attendFunction}
PATH=$PATH:$TOOL_PATH
umask 077
cd "$HEDDLE_RUN" || exit
dd bs="$CONFIG_SIZE" count=1 of=solo.rb 2> /dev/null || exit
cat > node.json || exit
list=$RUN_LIST
unset TOOL_PATH CONFIG_SIZE RUN_LIST
for word in cinc-solo chef-solo; do
  if command -v "$word" > /dev/null; then
    attend "$word" --config "$HEDDLE_RUN/solo.rb" --json-attributes "$HEDDLE_RUN/node.json" --override-runlist "$list" --no-color
    exit
  fi
done
echo "neither cinc-solo nor chef-solo is there" >&2
exit 127
`;

/** Carries out each action of a service by a run list of its own. */
export class ChefAutomator extends UniformAutomator {
  override async bootstrap(): Promise<void> {
    await prepareTool(this.shell, solo);
  }

  override async carryOut(_script: string, data: string): Promise<TaskResult> {
    const fields = this.task.service?.action.fields ?? {};
    const runList = readRunList(fields['runList']);
    const config = configOf({ ...fields, ...(await this.#brought()) });
    const outcome = await this.shell.run({
      text: run,
      stdin: config + JSON.stringify(this.#attributes(fields, data)),
      sudo: fields['sudo'] !== false,
      environment: {
        ...taskEnvironment(this.task),
        TOOL_PATH: searchPath(solo),
        CONFIG_SIZE: String(Buffer.byteLength(config)),
        RUN_LIST: runList.join(','),
      },
    });
    const { exitCode, stdout, stderr, results } = outcome;
    if (exitCode !== 0)
      throw new PluginError('ScriptFailed', `Chef ended with exit code ${exitCode}: ${lastLine(outcome)}`, {
        exitCode,
        stdout,
        stderr,
      });
    return results === undefined ? {} : { result: results };
  }

  /** Folders that come from the store: where they are on the node. */
  async #brought(): Promise<JsonObject> {
    const paths: Record<string, string> = {};
    for (const [field, resource] of Object.entries(this.task.resources ?? {}))
      paths[field] = await bringToNode(this.shell, resource);
    return paths;
  }

  /**
   * The cluster's configuration with the action's attributes over it, and what the task is under `heddle`.
   */
  #attributes({ attributes = {} }: JsonObject, data: string): JsonObject {
    if (!isJsonObject(attributes)) throw invalid('attributes', 'is not a mapping');
    const { 'ssh-auth': _login, provider: _provider, service: _service, ...payload } = this.task.config;
    const { clusterId, nodeId, taskName, cluster, nodes, service } = this.task;
    return {
      ...mergePayload(cluster, attributes),
      heddle: {
        cluster: clusterId,
        node: nodeId,
        service: service?.name ?? '',
        action: taskName,
        payload,
        nodes: nodes as unknown as JsonObject,
        data,
      },
    };
  }
}

function readRunList(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid('runList', 'is not a list of recipes and roles');
  return value.map((item: unknown, index) => {
    if (
      typeof item === 'string' &&
      /^(recipe|role)\[[\w:@.-]+\]$|^[\w:@.-]+$/.test(item) &&
      !item.startsWith('-')
    )
      return item;
    throw invalid(`runList[${index}]`, 'is no recipe or role, such as recipe[web::install]');
  });
}

/** Ruby reads these: paths are quoted so that nothing in them is code. */
function configOf(fields: JsonObject): string {
  const lines = [
    ['cookbook_path', 'cookbooks'],
    ['role_path', 'roles'],
    ['data_bag_path', 'dataBags'],
  ].flatMap(([setting = '', field = '']) => {
    const path = fields[field];
    if (path === undefined && field !== 'cookbooks') return [];
    const folder = path ?? '/var/chef/cookbooks';
    if (typeof folder !== 'string' || !/^\/[^\0\r\n]*$/.test(folder))
      throw invalid(field, 'is no absolute path on the node');
    return [`${setting} '${folder.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`];
  });
  return `${lines.join('\n')}\n`;
}

function invalid(field: string, fault: string): PluginError {
  return new PluginError('Invalid', `automator chef: field ${field} ${fault}`);
}
