import { Automator, type JsonObject, type SshAuth, type TaskResult } from './contract.js';

type ServiceMethod = 'install' | 'configure' | 'init' | 'start' | 'stop' | 'remove';

/** An automator that performs all six actions of a service in the same way. */
export abstract class UniformAutomator extends Automator {
  /** The user's fields of the action. */
  protected get actionFields(): JsonObject {
    return this.task.service?.action.fields ?? {};
  }

  abstract carryOut(
    script: string,
    data: string,
    method: ServiceMethod,
    sshAuth: SshAuth,
  ): Promise<TaskResult>;

  override install(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data, 'install', sshAuth);
  }

  override configure(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data, 'configure', sshAuth);
  }

  override init(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data, 'init', sshAuth);
  }

  override start(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data, 'start', sshAuth);
  }

  override stop(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data, 'stop', sshAuth);
  }

  override remove(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data, 'remove', sshAuth);
  }
}
