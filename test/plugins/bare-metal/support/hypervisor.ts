import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** A machine of QEMU: one disk, and one interface in a network of its own, with DHCP. */
export interface VirtualMachine {
  readonly name: string;
  readonly mac: string;
  readonly diskFile: string;
  /** Leads to its SSH server. */
  readonly sshPort: number;
  /** What DHCP has it boot; absent: nothing. */
  readonly bootUrl?: string;
}

export interface Hypervisor {
  readonly endpoint: string;
  isOn(name: string): boolean;
  stop(): Promise<void>;
}

/**
 * Switches machines as the controllers ask it to; they are off first. QEMU without KVM, so any host will do.
 */
export async function startHypervisor(
  folder: string,
  machines: readonly VirtualMachine[],
): Promise<Hypervisor> {
  const running = new Map<string, ChildProcess>();
  const end = async (name: string): Promise<void> => {
    const child = running.get(name);
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const begin = (machine: VirtualMachine, boot: string): void => {
    if (running.has(machine.name)) return;
    const child = spawn('qemu-system-x86_64', argumentsOf(folder, machine, boot), {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    running.set(machine.name, child);
    child.once('exit', () => running.delete(machine.name));
  };
  const server = createServer((incoming, outgoing) => {
    const answer = (status: number, body: object): void => {
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const name = /^\/v1\/machines\/([\w-]+)/.exec(incoming.url ?? '')?.[1];
    const machine = machines.find((one) => one.name === name);
    if (machine === undefined) return answer(404, {});
    if (incoming.method === 'GET')
      return answer(200, { state: running.has(machine.name) ? 'running' : 'stopped' });
    let text = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    incoming.once('end', () => {
      const { power, boot } = JSON.parse(text) as { readonly power: string; readonly boot: string };
      if (power === 'on') begin(machine, boot);
      (power === 'off' ? end(machine.name) : Promise.resolve()).then(
        () => answer(200, {}),
        () => answer(500, {}),
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isOn: (name) => running.has(name),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await Promise.all(machines.map(({ name }) => end(name)));
    },
  };
}

function argumentsOf(folder: string, machine: VirtualMachine, boot: string): readonly string[] {
  const { name, mac, diskFile, sshPort, bootUrl } = machine;
  const network = [
    'user,id=net',
    `hostfwd=tcp:127.0.0.1:${sshPort}-:22`,
    ...(bootUrl === undefined ? [] : [`bootfile=${bootUrl}`]),
  ];
  return [
    ...['-machine', 'pc', '-accel', 'tcg', '-m', '256', '-nodefaults', '-display', 'none', '-no-reboot'],
    ...['-serial', `file:${join(folder, `console-of-${name}`)}`],
    ...['-netdev', network.join(',')],
    ...['-device', `virtio-net-pci,netdev=net,mac=${mac}`],
    ...['-drive', `file=${diskFile},format=raw,if=virtio,cache=writeback`],
    ...['-boot', boot === 'network' ? 'n' : 'c'],
  ];
}
