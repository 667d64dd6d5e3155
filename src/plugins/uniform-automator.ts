import { Automator, type SshAuth, type TaskResult } from './contract.js';

/** An automator that carries out all six actions of a service in one way: what differs is in the task. */
export abstract class UniformAutomator extends Automator {
  abstract carryOut(script: string, data: string): Promise<TaskResult>;

  override install(_sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data);
  }

  override configure(_sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data);
  }

  override init(_sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data);
  }

  override start(_sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data);
  }

  override stop(_sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data);
  }

  override remove(_sshAuth: SshAuth, script: string, data: string): Promise<TaskResult> {
    return this.carryOut(script, data);
  }
}
