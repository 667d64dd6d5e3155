import { Automator, type PluginContext, type Shell, type SshAuth, type TaskResult } from '../contract.js';
import { invokeAction, type AttemptContext, type Invocation } from './invoke.js';

type Context = PluginContext & AttemptContext & { readonly shell: Shell };

/** An automator whose methods are carried out by a program. */
export class ProgramAutomator extends Automator {
  readonly #invocation: Invocation;
  readonly #context: Context;

  constructor(invocation: Invocation, context: Context) {
    super(context);
    this.#invocation = invocation;
    this.#context = context;
  }

  override bootstrap(sshAuth: SshAuth): Promise<TaskResult> {
    return invokeAction(this.#invocation, this.#context, {
      name: 'bootstrap',
      arguments: [sshAuth],
      input: { sshAuth },
    });
  }

  override install(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.#act('install', sshAuth, script, data);
  }

  override configure(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.#act('configure', sshAuth, script, data);
  }

  override init(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.#act('init', sshAuth, script, data);
  }

  override start(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.#act('start', sshAuth, script, data);
  }

  override stop(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.#act('stop', sshAuth, script, data);
  }

  override remove(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.#act('remove', sshAuth, script, data);
  }

  /** Script and data come first, where programs that cannot read JSON find them. */
  #act(name: string, sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return invokeAction(this.#invocation, this.#context, {
      name,
      arguments: [sshAuth, script, data],
      input: { script, data, sshAuth },
    });
  }
}
