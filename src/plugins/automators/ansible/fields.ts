import { isAbsolute, normalize } from 'node:path';
import { isJsonObject } from '../../../model/json.js';
import { type JsonObject, PluginError } from '../../contract.js';

/** What is played: the text of a playbook, one of the administrator's folder, or a role. */
export type Played =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'role'; readonly role: string; readonly tasksFrom?: string };

export interface AnsibleFields {
  readonly played: Played;
  readonly vars: JsonObject;
  readonly tags: readonly string[];
  readonly skipTags: readonly string[];
  readonly become: boolean;
  readonly vaultPassword?: string;
  /** What is done when an earlier attempt was cut off in the middle. */
  readonly interrupted: 'again' | 'hold';
}

export interface AnsibleSettings {
  /** Absolute path of ansible-playbook. */
  readonly program: string;
  readonly folder?: string;
}

/** @throws PluginError Invalid naming the field. */
export function readFields(fields: JsonObject): AnsibleFields {
  const { vars = {}, vaultPassword } = fields;
  if (!isJsonObject(vars)) throw invalid('vars', 'is not a mapping');
  for (const name of Object.keys(vars)) {
    if (!/^[A-Za-z_]\w*$/.test(name))
      throw invalid(
        `vars.${name}`,
        'is no name for a variable: letters, digits and underscores, no digit first',
      );
    if (name === 'heddle') throw invalid('vars.heddle', 'is set by Heddle itself; use another name');
  }
  return {
    played: readPlayed(fields),
    vars,
    tags: describeIntent(fields, 'tags'),
    skipTags: describeIntent(fields, 'skipTags'),
    become: fields['become'] === true,
    ...(typeof vaultPassword === 'string' ? { vaultPassword } : {}),
    interrupted: fields['interrupted'] === 'hold' ? 'hold' : 'again',
  };
}

/** @throws PluginError Invalid when no administrator has set it up. */
export function readSettings({ program, folder }: JsonObject): AnsibleSettings {
  if (typeof program !== 'string' || !isAbsolute(program)) {
    throw new PluginError(
      'Invalid',
      'automator ansible is not set up on this worker: give the absolute path of ansible-playbook as automators.ansible.fields.program in heddle.yaml',
    );
  }
  if (folder !== undefined && (typeof folder !== 'string' || !isAbsolute(folder))) {
    throw new PluginError('Invalid', 'automators.ansible.fields.folder in heddle.yaml is no absolute path');
  }
  return { program, folder };
}

function readPlayed(fields: JsonObject): Played {
  const given = ['playbook', 'path', 'role'].filter(
    (name) => typeof fields[name] === 'string' && fields[name] !== '',
  );
  if (given.length !== 1)
    throw invalid(
      'playbook',
      `must be given, or path, or role: one of them, and not ${given.length === 0 ? 'none' : given.join(' and ')}`,
    );
  const { playbook, path, role, tasksFrom } = fields;
  if (typeof path === 'string') {
    if (isAbsolute(path) || normalize(path).startsWith('..'))
      throw invalid('path', "must be a path inside of the administrator's folder");
    return { kind: 'path', path };
  }
  if (typeof role === 'string') {
    if (!/^\w[\w.-]*$/.test(role)) throw invalid('role', 'is no name of a role');
    return { kind: 'role', role, ...(typeof tasksFrom === 'string' ? { tasksFrom } : {}) };
  }
  return { kind: 'text', text: typeof playbook === 'string' ? playbook : '' };
}

function describeIntent(fields: JsonObject, name: 'tags' | 'skipTags'): readonly string[] {
  const words = fields[name] ?? [];
  if (!Array.isArray(words)) throw invalid(name, 'is not a list');
  return words.map((word, index) => {
    if (typeof word === 'string' && /^[\w.-]+$/.test(word) && !word.startsWith('-')) return word;
    throw invalid(`${name}[${index}]`, 'is no tag');
  });
}

function invalid(field: string, fault: string): PluginError {
  return new PluginError('Invalid', `automator ansible: field ${field} ${fault}`);
}
