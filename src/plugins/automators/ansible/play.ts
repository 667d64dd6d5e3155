import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PluginError, type NodeAddress, type PluginLog, type Task } from '../../contract.js';
import { PlayReader, type PlayStory } from './events.js';
import type { AnsibleFields, AnsibleSettings, Played } from './fields.js';
import { inventoryOf, varsOf, type NodePlace, type PlayFiles } from './inventory.js';
import { executables, jumpSaid, loginFiles } from './login.js';
import { runTool, type ToolEnd } from './process.js';

export interface Play {
  readonly task: Task;
  readonly address: NodeAddress;
  readonly settings: AnsibleSettings;
  readonly fields: AnsibleFields;
  readonly data: string;
  readonly place: NodePlace;
  readonly log: PluginLog;
  readonly signal: AbortSignal;
}

/** Plays on the worker against the task's node, in a folder of its own that goes with it. */
export async function play({
  task,
  address,
  settings,
  fields,
  data,
  place,
  log,
  signal,
}: Play): Promise<{ readonly story: PlayStory; readonly end: ToolEnd }> {
  await checkThere(settings, fields.played);
  const folder = mkdtempSync(join(tmpdir(), 'heddle-'));
  const reader = new PlayReader(log);
  try {
    mkdirSync(join(folder, 'tmp'), { mode: 0o700 });
    const files: PlayFiles = {
      ...loginFiles(address, folder),
      ...varsOf(task, fields, data, place),
      'inventory.yml': inventoryOf(task, address, fields),
      'ansible.cfg': configuration(folder, settings, place, fields),
      'play.yml': playbookOf(fields.played),
      [jumpSaid]: '',
      ...(fields.vaultPassword === undefined ? {} : { vault: `${fields.vaultPassword}\n` }),
    };
    for (const [name, text] of Object.entries(files)) {
      const file = join(folder, name);
      writeFileSync(file, text, { mode: 0o600 });
      if (executables.has(name)) chmodSync(file, 0o700);
    }
    const end = await runTool({
      program: settings.program,
      words: describeIntent(task, settings, fields),
      folder,
      signal,
      onEvent: (line) => reader.read(line),
      environment: {
        ANSIBLE_CONFIG: join(folder, 'ansible.cfg'),
        HEDDLE_EVENTS: '3',
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
    return {
      story: reader.story(),
      end: { ...end, said: `${end.said}${readFileSync(join(folder, jumpSaid), 'utf8').slice(-2_000)}` },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Nothing secret stands here: the arguments of a process can be read by everybody. */
function describeIntent(
  task: Task,
  settings: AnsibleSettings,
  { played, tags, skipTags }: AnsibleFields,
): readonly string[] {
  return [
    '--limit',
    task.nodeId,
    '--extra-vars',
    '@vars.json',
    '--extra-vars',
    '@heddle.yml',
    ...(tags.length === 0 ? [] : ['--tags', tags.join(',')]),
    ...(skipTags.length === 0 ? [] : ['--skip-tags', skipTags.join(',')]),
    '--',
    played.kind === 'path' ? join(settings.folder ?? '', played.path) : 'play.yml',
  ];
}

function playbookOf(played: Played): string {
  if (played.kind === 'text') return played.text;
  if (played.kind === 'path') return '';
  const { role, tasksFrom } = played;
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
  const own = (name: string): string =>
    settings.folder === undefined ? folder : join(settings.folder, name);
  return `[defaults]
inventory = ${folder}/inventory.yml
local_tmp = ${folder}/tmp
remote_tmp = ${place.tmp}
callback_plugins = ${fileURLToPath(new URL('.', import.meta.url))}
stdout_callback = heddle_events
roles_path = ${own('roles')}:/usr/share/ansible/roles:/etc/ansible/roles
collections_path = ${own('collections')}:/usr/share/ansible/collections
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

async function checkThere({ program, folder }: AnsibleSettings, played: Played): Promise<void> {
  const isFile = (path: string): Promise<boolean> =>
    stat(path).then(
      (one) => one.isFile(),
      () => false,
    );
  if (!(await isFile(program))) {
    throw new PluginError(
      'Invalid',
      `automator ansible: there is no ${program} on this worker; install ansible-core there, or name its ansible-playbook as automators.ansible.fields.program in heddle.yaml`,
    );
  }
  if (played.kind !== 'path') return;
  if (folder === undefined)
    throw new PluginError(
      'Invalid',
      "automator ansible: a path needs the administrator's folder: automators.ansible.fields.folder in heddle.yaml, or a folder from the store: from: {resource: NAME}",
    );
  if (!(await isFile(join(folder, played.path))))
    throw new PluginError(
      'Invalid',
      `automator ansible: there is no playbook ${played.path} in ${folder} on this worker; look at what the administrator, or the resource, has there`,
    );
}
