import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { PluginError, type Shell, type Task } from '../../contract.js';
import { bringToNode } from '../../node-resource.js';

export interface ChosenScript {
  readonly text: string;
  /** Where the folder of scripts is on the node, if there is one. */
  readonly folder?: string;
}

/**
 * The script of a task: its text, a file from the store, or one of a folder from the store, which then is on
 * the node.
 */
export async function chooseScript(task: Task, text: string, shell: Shell): Promise<ChosenScript> {
  const { scriptFile, scripts, file } = task.service?.action.fields ?? {};
  const given = [
    ['script', text !== ''],
    ['scriptFile', scriptFile !== undefined],
    ['file', file !== undefined],
  ].flatMap(([name, is]) => (is === true ? [name] : []));
  if (given.length > 1) throw invalid(`${given.join(' and ')} are given; only one of them can be the script`);
  const there = task.resources?.['scripts'];
  const folder = there === undefined ? {} : { folder: await bringToNode(shell, there) };
  if (typeof scriptFile === 'string') return { text: await read(scriptFile, 'scriptFile'), ...folder };
  if (file === undefined) return { text, ...folder };
  if (typeof scripts !== 'string') throw invalid('file is given, and no scripts that it is one of');
  if (typeof file !== 'string' || file.startsWith('/') || normalize(file).split('/').includes('..'))
    throw invalid('file is no path inside of scripts');
  return { text: await read(join(scripts, file), file), ...folder };
}

async function read(path: string, what: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new PluginError('Invalid', `automator shell: there is no file ${what} in the resource`, { cause });
  });
}

function invalid(fault: string): PluginError {
  return new PluginError('Invalid', `automator shell: ${fault}`);
}
