import { createHash } from 'node:crypto';
import { PluginError, type TaskResult } from '../../contract.js';
import { lastLine } from '../../node-tool.js';
import { taskEnvironment } from '../../task-environment.js';
import { UniformAutomator } from '../../uniform-automator.js';
import { composeFile, dataFile, invalid, readFields, type ComposeFields } from './fields.js';
import { prepareNode } from './programs.js';
import { actOnProject } from './project.js';

/** Carries out each action of a service on a compose project of its own. */
export class ComposeAutomator extends UniformAutomator {
  /** Nothing is installed: a container engine is a matter of the image, or of a service before. */
  override async bootstrap(): Promise<void> {
    const outcome = await this.shell.exec(['sh', '-c', prepareNode, 'heddle', this.#admin('program')]);
    const { exitCode, stdout, stderr } = outcome;
    if (exitCode !== 0)
      throw new PluginError('ScriptFailed', `automator compose: ${lastLine(outcome)}`, {
        exitCode,
        stdout,
        stderr,
      });
    this.log.debug(`compose projects are run by ${stdout.trim()}`);
  }

  override async carryOut(_script: string, data: string): Promise<TaskResult> {
    const { taskName, service, clusterId, nodeId, taskId } = this.task;
    const fields = readFields(service?.action.fields ?? {});
    const { project = `${clusterId}-${service?.name ?? ''}`, run } = fields;
    if (taskName === 'INITIALIZE' && run === undefined)
      throw invalid('run: INITIALIZE does nothing else: give a service and its command');
    const parts = partsOf(fields, { owner: `${clusterId}/${nodeId}`, data });
    const outcome = await this.shell.run({
      text: actOnProject,
      stdin: parts.map(({ text }) => text).join(''),
      sudo: fields.sudo,
      environment: {
        ...taskEnvironment(this.task),
        HEDDLE_COMPOSE_PROJECT: project,
        HEDDLE_COMPOSE_VERB: taskName,
        HEDDLE_COMPOSE_PROGRAM: this.#admin('program'),
        HEDDLE_COMPOSE_ENGINE: this.#admin('engine'),
        HEDDLE_COMPOSE_PARTS: parts.map(({ name, text }) => `${Buffer.byteLength(text)} ${name}`).join(' '),
        HEDDLE_COMPOSE_PULL: fields.pull,
        HEDDLE_COMPOSE_WAIT: String(fields.wait),
        HEDDLE_COMPOSE_STOP: String(fields.stopTimeout),
        HEDDLE_COMPOSE_VOLUMES: String(fields.volumes),
        HEDDLE_COMPOSE_RUN: run?.service ?? '',
        HEDDLE_COMPOSE_TOKEN: createHash('sha256').update(taskId).digest('hex').slice(0, 12),
      },
    });
    const { exitCode, stdout, stderr, results } = outcome;
    if (exitCode !== 0) {
      const what =
        run === undefined
          ? `${taskName} of the compose project ${project}`
          : `the command in a container of ${run.service}`;
      throw new PluginError(
        'ScriptFailed',
        `${what} ended with exit code ${exitCode}: ${lastLine(outcome)}`,
        { exitCode, stdout, stderr },
      );
    }
    return results === undefined ? {} : { result: results };
  }

  #admin(name: string): string {
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
  const project =
    file === undefined
      ? []
      : [
          { name: `project/${composeFile}`, text: file },
          ...(data === '' ? [] : [{ name: `project/${dataFile}`, text: data }]),
          ...Object.entries(files).map(([name, text]) => ({ name: `project/${name}`, text })),
          {
            name: 'environment',
            text: Object.entries(environment)
              .map(([name, value]) => `export ${name}=${quote(value)}\n`)
              .join(''),
          },
        ];
  const words =
    run === undefined
      ? []
      : [
          { name: 'words', text: `set -- ${run.command.map(quote).join(' ')}\n` },
          { name: 'input', text: data },
        ];
  return [...project, { name: 'owner', text: owner }, ...words];
}

/** For files that a shell reads. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
