import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PluginError, type NodeAddress, type PluginLog, type Task } from '../../contract.js';
import { PlayReader, type PlayStory } from './events.js';
import type { AnsibleFields, AnsibleSettings } from './fields.js';
import { inventoryOf, varsOf, type NodePlace, type PlayFiles } from './inventory.js';
import { executables, jumpSaid, loginFiles } from './login.js';
import { runTool, type ToolEnd } from './tool.js';

export interface Play {
  readonly task: Task;
  readonly address: NodeAddress;
  readonly settings: AnsibleSettings;
  readonly fields: AnsibleFields;
  readonly data: string;
  readonly place: NodePlace;
  readonly log: PluginLog;
  readonly print: (stream: 'stdout' | 'stderr', text: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Plays on the worker against the task's node, in a temporary folder. */
export async function play({
  task,
  address,
  settings,
  fields,
  data,
  place,
  log,
  print,
  signal,
}: Play): Promise<{ readonly story: PlayStory; readonly end: ToolEnd }> {
  await checkFiles(settings, fields);
  const folder = mkdtempSync(join(tmpdir(), 'heddle-'));
  const reader = new PlayReader(log, (text) => print('stdout', text));
  try {
    mkdirSync(join(folder, 'tmp'), { mode: 0o700 });
    const files: PlayFiles = {
      ...loginFiles(address, folder),
      ...varsOf(task, fields, data, place),
      'inventory.yml': inventoryOf(task, address, fields),
      'ansible.cfg': configuration(folder, settings, place, fields),
      'play.yml': playbookOf(fields),
      [jumpSaid]: '',
      vault: fields.vaultPassword === undefined ? undefined : `${fields.vaultPassword}\n`,
    };
    for (const [name, text] of Object.entries(files).filter(([, content]) => content !== undefined))
      writeFileSync(join(folder, name), text ?? '', { mode: executables.has(name) ? 0o700 : 0o600 });
    const end = await runTool({
      program: settings.program,
      words: commandLine(task, settings, fields),
      folder,
      signal,
      onEvent: (line) => reader.read(line),
      environment: {
        ANSIBLE_CONFIG: join(folder, 'ansible.cfg'),
        HEDDLE_EVENTS: '3',
        // Compiled modules beside a playbook would change the resource that it came from.
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
    const ofJump = readFileSync(join(folder, jumpSaid), 'utf8').slice(-2_000);
    const said = `${end.said}${ofJump}`;
    await reader.end();
    if (said !== '') await print('stderr', said);
    return { story: reader.story(), end: { ...end, said } };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Arguments of a process are public, so none is secret. */
function commandLine(
  { nodeId }: Task,
  settings: AnsibleSettings,
  { path, tags, skipTags }: AnsibleFields,
): readonly string[] {
  return [
    ...['--limit', nodeId, '--extra-vars', '@vars.yml', '--extra-vars', '@heddle.yml'],
    ...(tags.length === 0 ? [] : ['--tags', tags.join(',')]),
    ...(skipTags.length === 0 ? [] : ['--skip-tags', skipTags.join(',')]),
    '--',
    path ? join(settings.folder ?? '', path) : 'play.yml',
  ];
}

function playbookOf({ playbook = '', role, tasksFrom }: AnsibleFields): string {
  if (!role) return playbook;
  const include = { name: role, tasks_from: tasksFrom };
  return JSON.stringify([
    { name: `role ${role}`, hosts: 'all', tasks: [{ name: role, 'ansible.builtin.import_role': include }] },
  ]);
}

function configuration(
  folder: string,
  settings: AnsibleSettings,
  place: NodePlace,
  { vaultPassword }: AnsibleFields,
): string {
  const own = settings.folder ?? folder;
  return `[defaults]
inventory = ${folder}/inventory.yml
local_tmp = ${folder}/tmp
remote_tmp = ${place.tmp}
callback_plugins = ${fileURLToPath(new URL('.', import.meta.url))}
stdout_callback = heddle_events
roles_path = ${own}/roles:/usr/share/ansible/roles:/etc/ansible/roles
collections_path = ${own}/collections:/usr/share/ansible/collections
retry_files_enabled = False
host_key_checking = True
localhost_warning = False
module_strict_utf8_response = False
nocows = True
nocolor = True
forks = 1
timeout = 20
interpreter_python = auto_silent
${vaultPassword === undefined ? '' : `vault_password_file = ${folder}/vault\n`}
[inventory]
enable_plugins = yaml

[ssh_connection]
ssh_args = -F ${folder}/ssh_config -o ControlMaster=auto -o ControlPersist=30s -o ControlPath=${folder}/c-%h-%p
transfer_method = piped
`;
}

async function checkFiles({ program, folder }: AnsibleSettings, { path }: AnsibleFields): Promise<void> {
  const isFile = (file: string): Promise<boolean> =>
    stat(file).then(
      (found) => found.isFile(),
      () => false,
    );
  if (!(await isFile(program)))
    throw invalid(
      `${program} does not exist on this worker; install ansible-core, or set automators.ansible.fields.program in heddle.yaml to its ansible-playbook`,
    );
  if (!path) return;
  if (folder === undefined)
    throw invalid(
      "a path needs the administrator's folder: automators.ansible.fields.folder in heddle.yaml, or a folder from the store: from: {resource: NAME}",
    );
  if (!(await isFile(join(folder, path))))
    throw invalid(
      `playbook ${path} does not exist in ${folder} on this worker; check the administrator's folder or the resource`,
    );
}

function invalid(fault: string): PluginError {
  return new PluginError('Invalid', `automator ansible: ${fault}`);
}
