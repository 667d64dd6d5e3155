import { createHash } from 'node:crypto';
import { fieldFault } from '../../automator-fields.js';
import { PluginError, type TaskResult } from '../../contract.js';
import { lastLine } from '../../node-tool.js';
import { taskEnvironment } from '../../task-environment.js';
import { UniformAutomator } from '../../uniform-automator.js';
import { composeFile, dataFile, readFields, type ComposeFields } from './fields.js';
import { actOnProject, prepareNode } from './project.js';

/** Carries out each action of a service on a compose project. */
export class ComposeAutomator extends UniformAutomator {
  /** Installs nothing: a container engine comes with the image, or from an earlier service. */
  override async bootstrap(): Promise<void> {
    const outcome = await this.shell.exec(['sh', '-c', prepareNode, 'heddle', this.#adminField('program')]);
    if (outcome.exitCode !== 0)
      throw new PluginError('ScriptFailed', `automator compose: ${lastLine(outcome)}`, outcome);
    this.log.debug(`compose projects are run by ${outcome.stdout.trim()}`);
  }

  override async carryOut(_script: string, data: string): Promise<TaskResult> {
    const { taskName, service, clusterId, nodeId, taskId } = this.task;
    const fields = readFields(this.actionFields);
    const { project = `${clusterId}-${service?.name ?? ''}`, run } = fields;
    if (taskName === 'INITIALIZE' && run === undefined)
      throw fieldFault('compose', 'run', 'is missing: INITIALIZE requires a service and its command');
    const parts = partsOf(fields, { owner: `${clusterId}/${nodeId}`, data });
    const outcome = await this.shell.run({
      text: actOnProject,
      stdin: parts.map(({ text }) => text).join(''),
      sudo: fields.sudo,
      environment: {
        ...taskEnvironment(this.task),
        HEDDLE_COMPOSE_PROJECT: project,
        HEDDLE_COMPOSE_VERB: taskName,
        HEDDLE_COMPOSE_PROGRAM: this.#adminField('program'),
        HEDDLE_COMPOSE_ENGINE: this.#adminField('engine'),
        HEDDLE_COMPOSE_PARTS: parts.map(({ name, text }) => `${Buffer.byteLength(text)} ${name}`).join(' '),
        HEDDLE_COMPOSE_PULL: fields.pull,
        HEDDLE_COMPOSE_WAIT: String(fields.wait),
        HEDDLE_COMPOSE_STOP: String(fields.stopTimeout),
        HEDDLE_COMPOSE_VOLUMES: String(fields.volumes),
        HEDDLE_COMPOSE_RUN: run?.service ?? '',
        HEDDLE_COMPOSE_TOKEN: createHash('sha256').update(taskId).digest('hex').slice(0, 12),
      },
    });
    if (outcome.exitCode === 0) return { result: outcome.results };
    const what =
      run === undefined
        ? `${taskName} of the compose project ${project}`
        : `the command in a container of ${run.service}`;
    throw new PluginError(
      'ScriptFailed',
      `${what} ended with exit code ${outcome.exitCode}: ${lastLine(outcome)}`,
      outcome,
    );
  }

  #adminField(name: string): string {
    const value = this.fields[name];
    return typeof value === 'string' ? value : '';
  }
}

interface Part {
  readonly name: string;
  readonly text: string;
}

/** The files that the script gets on standard input. Their names hold no blanks. */
function partsOf(
  { file, files = {}, environment = {}, run }: ComposeFields,
  { owner, data }: { readonly owner: string; readonly data: string },
): readonly Part[] {
  const parts: Part[] = [];
  const add = (name: string, text: string): unknown => parts.push({ name, text });
  if (file !== undefined) {
    add(`project/${composeFile}`, file);
    if (data !== '') add(`project/${dataFile}`, data);
    for (const [name, text] of Object.entries(files)) add(`project/${name}`, text);
    const exports = Object.entries(environment).map(([name, value]) => `export ${name}=${quote(value)}\n`);
    add('environment', exports.join(''));
  }
  add('owner', owner);
  if (run !== undefined) {
    add('words', `set -- ${run.command.map(quote).join(' ')}\n`);
    add('input', data);
  }
  return parts;
}

/** For files that a shell reads. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
