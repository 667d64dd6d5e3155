import { unsafeText, unsafeUser } from '../../../model/safe-text.js';
import { PluginError, type NodeAddress } from '../../contract.js';
import type { PlayFiles } from './inventory.js';

/**
 * OpenSSH files for the play's folder, which only the worker's user may read: the engine's host keys and
 * credentials for the node, and no other configuration.
 */
export function loginFiles(address: NodeAddress, folder: string): PlayFiles {
  const { jump } = address;
  checkHost('the node', address);
  const node = [
    'Host * !heddle-jump',
    ...hostLines(address, folder, ''),
    ...(jump === undefined ? [] : [`  ProxyCommand ${proxyCommand(jump, folder)}`]),
  ];
  return {
    known_hosts: knownHosts(address),
    key: keyText(address),
    ssh_config: [...(jump === undefined ? [] : jumpLines(jump, folder)), ...node, ''].join('\n'),
    ...(jump === undefined ? {} : jumpFiles(jump)),
  };
}

function jumpFiles(jump: Host): PlayFiles {
  checkHost('the jump host', jump);
  return {
    jump_known_hosts: knownHosts(jump),
    jump_key: keyText(jump),
    jump_password: jump.password === undefined ? undefined : `${jump.password}\n`,
    // Without an answer of its own, the jump host would get the node's password.
    jump_askpass: `#!/bin/sh\nexec cat "\${0%/*}/jump_password"\n`,
  };
}

function jumpLines(jump: Host, folder: string): readonly string[] {
  const { host, port, user } = jump;
  const login = [`  HostName ${host}`, `  Port ${port}`, `  User ${user}`];
  return ['Host heddle-jump', ...hostLines(jump, folder, 'jump_'), ...login];
}

/** A line break in a value would begin another setting, such as a ProxyCommand that runs on the worker. */
function checkHost(whose: string, { host, port, user, agent }: Host): void {
  const faults = [
    [
      'host',
      unsafeText(host) ?? (/^[\p{L}\p{N}._:-]+$/u.test(host) ? undefined : 'is not a host name or address'),
    ],
    [
      'port',
      Number.isInteger(port) && port > 0 && port < 65_536 ? undefined : 'is not a number from 1 to 65535',
    ],
    ['user', unsafeUser(user)],
    ['agent', agent === undefined ? undefined : unsafeText(agent, { blanks: true })],
  ].flatMap(([what, why]) => (why === undefined ? [] : [`${what} of ${whose} ${why}`]));
  if (faults.length > 0) throw new PluginError('Invalid', `automator ansible: ${faults.join('; ')}`);
}

/** The file with OpenSSH's messages about the jump host. */
export const jumpSaid = 'jump_said';

/** Files that must be executable. */
export const executables: ReadonlySet<string> = new Set(['jump_askpass']);

type Host = Omit<NodeAddress, 'jump'>;

function hostLines({ key, agent }: Host, folder: string, prefix: string): readonly string[] {
  return `UserKnownHostsFile ${quote(`${folder}/${prefix}known_hosts`)}
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
UpdateHostKeys no
CheckHostIP no
VerifyHostKeyDNS no
IdentityFile ${key === undefined ? 'none' : quote(`${folder}/${prefix}key`)}
IdentitiesOnly ${agent === undefined ? 'yes' : 'no'}
IdentityAgent ${agent === undefined ? 'none' : quote(agent)}
ForwardAgent no
ForwardX11 no
ClearAllForwardings no
PermitLocalCommand no
GSSAPIAuthentication no
HostbasedAuthentication no
NumberOfPasswordPrompts 1
ConnectTimeout 15
ServerAliveInterval 5
ServerAliveCountMax 3
LogLevel ERROR`
    .split('\n')
    .map((line) => `  ${line}`);
}

/** Messages go to a file, because OpenSSH discards those of a shared connection's proxy. */
function proxyCommand({ password }: Host, folder: string): string {
  const ask =
    password === undefined
      ? 'SSH_ASKPASS=/bin/false SSH_ASKPASS_REQUIRE=force'
      : `SSH_ASKPASS=${folder}/jump_askpass SSH_ASKPASS_REQUIRE=force DISPLAY=-`;
  return `env ${ask} ssh -F ${folder}/ssh_config -W [%h]:%p heddle-jump 2>> ${folder}/jump_said`;
}

function knownHosts({ host, port, hostKey }: Host): string {
  const keys = hostKey === undefined ? [] : [hostKey].flat();
  const name = port === 22 ? host : `[${host}]:${port}`;
  return keys.map((key) => `${name} ${key.split(/\s+/).slice(0, 2).join(' ')}\n`).join('');
}

function quote(path: string): string {
  return `"${path}"`;
}

function keyText({ key }: Host): string | undefined {
  return key === undefined || key.endsWith('\n') ? key : `${key}\n`;
}
