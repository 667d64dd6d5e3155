import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createPool } from '../ssh/pool.js';
import { createShell } from '../ssh/shell.js';
import type { SshTarget } from '../ssh/target.js';
import { startMachineService, type MachineService } from './machine-service.js';

/** A node with real SSH, behind a connection that can be cut. */
export interface CuttableNode {
  /** As the automator reaches it. */
  readonly target: SshTarget;
  /** Cuts all connections; commands on the node continue. */
  cut(): void;
  /** Connections of the automator since the node was opened. */
  connections(): number;
  /** Runs shell text on the node for the suite itself, past the cuts; gives its output. */
  execute(text: string): Promise<string>;
  close(): Promise<void>;
}

interface Described {
  readonly state: string;
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly hostKey: string;
}

/** A node that the test provides, such as a container with the automator's tools. */
export interface SuiteNode {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  /** In OpenSSH's or PEM's form. */
  readonly privateKey?: string;
  /** As a line of known_hosts has it: type and base64. */
  readonly hostKey: string;
  readonly close?: () => Promise<void>;
}

/** Opens a node behind a connection that can be cut; a machine of its own machine service by default. */
export async function openNode(open: () => Promise<SuiteNode> = () => openMachine()): Promise<CuttableNode> {
  const { close = () => Promise.resolve(), ...target } = await open();
  const link = await openLink(target.host, target.port);
  const pool = createPool();
  return {
    target: { ...target, host: '127.0.0.1', port: link.port },
    cut: link.cut,
    connections: link.connections,
    execute: async (text) =>
      (await createShell({ pool, target, runId: 'look' }).exec(['sh', '-c', text])).stdout,
    close: async () => {
      await pool.closeAll();
      await link.close().finally(close);
    },
  };
}

/** A machine of a machine service of its own. */
export async function openMachine(kind?: 'directory' | 'sandbox'): Promise<SuiteNode> {
  const service = await startMachineService({ kind });
  try {
    return { ...(await createMachine(service)), close: () => service.close() };
  } catch (error) {
    await service.close();
    throw error;
  }
}

async function createMachine(service: MachineService): Promise<SuiteNode> {
  const request = {
    key: 'suite/node-1/1',
    token: 'token-of-the-suite',
    hostname: 'node-1',
    flavor: 'tiny',
    image: 'host',
  };
  const { id } = (await service.call('POST', '/v1/machines', request)) as { readonly id: string };
  let machine: Described;
  do {
    await pause(50);
    machine = (await service.call('GET', `/v1/machines/${id}`)) as Described;
  } while (machine.state !== 'running');
  const { address: host, port, user, password, hostKey } = machine;
  return { host, port, user, password, hostKey };
}

async function openLink(host: string, port: number) {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((near) => {
    connections += 1;
    const far = connect(port, host);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    connections: () => connections,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
