import { z } from 'zod';
import { mergePayload } from '../../../model/node/payload.js';
import { parseFields } from '../../automator-fields.js';
import { PluginError, type JsonObject, type TaskResult } from '../../contract.js';
import { bringToNode } from '../../node-resource.js';
import { lastLine, prepareTool, runUntilTerminated, searchPath, type NodeTool } from '../../node-tool.js';
import { taskEnvironment } from '../../task-environment.js';
import { UniformAutomator } from '../../uniform-automator.js';

const solo: NodeTool = {
  name: 'chef',
  commands: ['cinc-solo', 'chef-solo'],
  folders: ['/opt/cinc/bin', '/opt/chef/bin'],
  advice: 'choose an image with Cinc or Chef Infra Client',
};

/** Configuration and attributes come on standard input; CONFIG_SIZE is the length of the first. */
const run = `${runUntilTerminated}
PATH=$PATH:$TOOL_PATH
umask 077
cd "$HEDDLE_RUN" || exit
dd bs="$CONFIG_SIZE" count=1 of=solo.rb 2> /dev/null || exit
cat > node.json || exit
list=$RUN_LIST
unset TOOL_PATH CONFIG_SIZE RUN_LIST
for word in cinc-solo chef-solo; do
  if command -v "$word" > /dev/null; then
    run_until_terminated "$word" --config "$HEDDLE_RUN/solo.rb" --json-attributes "$HEDDLE_RUN/node.json" --override-runlist "$list" --no-color
    exit
  fi
done
echo "neither cinc-solo nor chef-solo is installed" >&2
exit 127
`;

const folder = z.string().regex(/^\/[^\0\r\n]*$/, { error: 'is not an absolute path on the node' });
const fieldsSchema = z.object({
  runList: z
    .array(
      z
        .string()
        .regex(/^(recipe|role)\[[\w:@.-]+\]$|^(?!-)[\w:@.-]+$/, {
          error: 'is not a recipe or role, such as recipe[web::install]',
        }),
      { error: 'is not a list of recipes and roles' },
    )
    .min(1, { error: 'is not a list of recipes and roles' }),
  attributes: z.record(z.string(), z.json(), { error: 'is not a mapping' }).default({}),
  cookbooks: folder.default('/var/chef/cookbooks'),
  roles: folder.optional(),
  dataBags: folder.optional(),
  sudo: z.boolean().default(true),
});
type ChefFields = z.output<typeof fieldsSchema>;

/** Carries out each action of a service by a run list. */
export class ChefAutomator extends UniformAutomator {
  override async bootstrap(): Promise<void> {
    await prepareTool(this.shell, solo);
  }

  override async carryOut(_script: string, data: string): Promise<TaskResult> {
    const paths: Record<string, string> = {};
    for (const [field, resource] of Object.entries(this.task.resources ?? {}))
      paths[field] = await bringToNode(this.shell, resource);
    const fields = parseFields('chef', fieldsSchema, { ...this.actionFields, ...paths });
    const config = configOf(fields);
    const outcome = await this.shell.run({
      text: run,
      stdin: config + JSON.stringify(this.#attributes(fields, data)),
      sudo: fields.sudo,
      environment: {
        ...taskEnvironment(this.task),
        TOOL_PATH: searchPath(solo),
        CONFIG_SIZE: String(Buffer.byteLength(config)),
        RUN_LIST: fields.runList.join(','),
      },
    });
    if (outcome.exitCode !== 0)
      throw new PluginError(
        'ScriptFailed',
        `Chef ended with exit code ${outcome.exitCode}: ${lastLine(outcome)}`,
        outcome,
      );
    return { result: outcome.results };
  }

  /** The cluster's configuration, overlaid by the action's attributes; the task is under `heddle`. */
  #attributes({ attributes }: ChefFields, data: string): JsonObject {
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

/** Ruby source: quoted paths cannot contain code. */
function configOf({ cookbooks, roles, dataBags }: ChefFields): string {
  return Object.entries({ cookbook_path: cookbooks, role_path: roles, data_bag_path: dataBags })
    .filter(([, path]) => path !== undefined)
    .map(([setting, path = '']) => `${setting} '${path.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'\n`)
    .join('');
}
