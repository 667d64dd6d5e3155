import { Client } from 'ssh2';
import type { MachineView } from '../../../src/schema/output/machine.js';
import { expect } from 'vitest';
import type { MachineRequestIntent } from '../../../src/model/machine/intents.js';
import type { JsonObject } from '../../../src/model/json.js';
import type { MachineOperation, Registration } from '../../../src/model/machine/state.js';
import type { Stack } from '../stack.js';

export interface Ended {
  readonly operation: MachineOperation;
  readonly machine: MachineView;
}

/** What tests do with machines, over the client alone. */
export interface Ground {
  readonly add: (name: string, registration?: Partial<Registration>) => Promise<MachineView>;
  readonly begin: (name: string, intent: MachineRequestIntent) => Promise<string>;
  readonly end: (name: string, operation: string) => Promise<Ended>;
  readonly operate: (name: string, intent: MachineRequestIntent) => Promise<Ended>;
  /** Calls that the machine service carried out for a machine, without those that repeated one. */
  readonly calls: (operation: string, name: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Runs a line on a machine, with what the client tells of how to log in, and gives what it printed. */
  readonly onMachine: (name: string, line: string) => Promise<string>;
}

export const host = { name: 'host', revision: '1' } as const;

export function openGround(stack: Stack): Ground {
  const { machines } = stack.client;
  const end: Ground['end'] = (name, operation) => machines.waitFor(name, operation, { everyMs: 100 });
  const begin: Ground['begin'] = async (name, intent) => (await machines.operate(name, intent)).operation;
  return {
    begin,
    end,
    operate: async (name, intent) => end(name, await begin(name, intent)),
    onMachine: async (name, line) => runLine(await machines.payload(name), line),
    add: async (name, registration = {}) => {
      const { operation } = await machines.add(name, {
        provider: 'local',
        flavor: 'tiny',
        image: 'host',
        fields: {},
        system: 'linux',
        ...registration,
      });
      const {
        machine,
        operation: { failure, state },
      } = await end(name, operation);
      expect(failure).toBeUndefined();
      expect(state).toBe('done');
      return machine;
    },
    calls: async (operation, name) =>
      (await stack.service.journal(operation)).filter(
        ({ hostname, repeated }) => hostname === `machine-${name}` && repeated !== true,
      ),
  };
}

function runLine(payload: JsonObject, line: string): Promise<string> {
  const {
    ipaddress,
    'ssh-port': port,
    'ssh-auth': auth,
  } = payload as {
    readonly ipaddress: string;
    readonly 'ssh-port': number;
    readonly 'ssh-auth': { readonly user: string; readonly password: string };
  };
  return new Promise((resolve, reject) => {
    const ssh = new Client();
    ssh
      .on('error', reject)
      .on('ready', () => {
        ssh.exec(line, (error, channel) => {
          if (error) {
            reject(error);
            return;
          }
          let output = '';
          channel.on('data', (chunk: Buffer) => {
            output += chunk.toString();
          });
          channel.on('close', () => {
            ssh.end();
            resolve(output.trim());
          });
        });
      })
      .connect({ host: ipaddress, port, username: auth.user, password: auth.password });
  });
}
