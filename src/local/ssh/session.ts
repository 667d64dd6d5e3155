import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { ServerChannel, Session, SignalInfo, WindowChangeInfo } from 'ssh2';
import { childEnvironment } from '../../config/child-environment.js';
import { signalQuietly } from '../../config/process-table.js';
import { descendantsOf } from '../processes.js';
import { canMakeTerminals, planLaunch, type Launcher, type Terminal } from './launch.js';

const sftpServers = [
  '/usr/lib/openssh/sftp-server',
  '/usr/libexec/openssh/sftp-server',
  '/usr/libexec/sftp-server',
  '/usr/lib/ssh/sftp-server',
];
const signalNames = new Set('ABRT ALRM FPE HUP ILL INT KILL PIPE QUIT SEGV TERM USR1 USR2'.split(' '));

/** Serves one session channel: a command, a shell, or sftp where the system has a program for it. */
export function serveSession(
  session: Session,
  launcher: Launcher,
  onStart: (child: ChildProcess) => void,
): void {
  let terminal: Terminal | undefined;
  let running: RunningCommand | undefined;
  const start = (channel: ServerChannel, command: string | undefined): void => {
    running = new RunningCommand(channel, launcher, command, terminal, onStart);
  };
  session.on('pty', (accept: (() => void) | undefined, reject: (() => void) | undefined, info) => {
    if (!canMakeTerminals()) return reject?.();
    terminal = { name: nameOf(info), columns: info.cols || 80, rows: info.rows || 24 };
    accept?.();
  });
  session.on('window-change', (accept: (() => void) | undefined, _reject, info) => {
    running?.resize(info);
    accept?.();
  });
  session.on('signal', (accept: (() => void) | undefined, _reject, info) => {
    running?.signal(info);
    accept?.();
  });
  session.on('exec', (accept, _reject, info) => start(accept(), info.command));
  session.on('shell', (accept) => start(accept(), undefined));
  session.on('subsystem', (accept, reject: (() => void) | undefined, info) => {
    const program = sftpServers.find((path) => existsSync(path));
    if (info.name !== 'sftp' || program === undefined) return reject?.();
    start(accept(), `exec ${program}`);
  });
}

/** The client's word for its terminal, if it could be a word. */
function nameOf(info: object): string {
  const name = 'term' in info && typeof info.term === 'string' ? info.term : '';
  return /^[\w.+-]{1,64}$/.test(name) ? name : 'dumb';
}

class RunningCommand {
  readonly #child: ChildProcess;
  readonly #wrappers: number;
  #terminalPath: string | undefined;

  constructor(
    channel: ServerChannel,
    launcher: Launcher,
    command: string | undefined,
    terminal: Terminal | undefined,
    onStart: (child: ChildProcess) => void,
  ) {
    const launch = planLaunch(launcher, command, terminal);
    this.#wrappers = launch.wrappers;
    this.#child = spawn(launch.program, launch.args, {
      cwd: launcher.cwd,
      env: childEnvironment({ set: launch.environment }),
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', terminal === undefined ? 'ignore' : 'pipe'],
    });
    this.#child.on('error', (error) => {
      channel.stderr.write(`The machine could not start ${launch.program}: ${error.message}\n`);
      channel.exit(127);
      channel.end();
    });
    if (this.#child.pid !== undefined) onStart(this.#child);
    this.#connect(channel, terminal !== undefined);
  }

  resize(info: WindowChangeInfo): void {
    if (this.#terminalPath === undefined) return;
    const size = ['rows', String(info.rows), 'cols', String(info.cols)];
    spawn('stty', ['-F', this.#terminalPath, ...size], { stdio: 'ignore', env: childEnvironment() }).on(
      'error',
      () => undefined,
    );
  }

  /** As sshd does: the signal goes to the command and all it started, not to what we put in between. */
  signal(info: SignalInfo): void {
    const name = info.name.replace(/^SIG/, '');
    const pid = this.#child.pid;
    if (pid === undefined || !signalNames.has(name)) return;
    const signal = `SIG${name}` as NodeJS.Signals;
    if (this.#wrappers === 0) return signalQuietly(-pid, signal);
    for (const process of descendantsOf(pid)) {
      if (process.depth >= this.#wrappers) signalQuietly(process.pid, signal);
    }
  }

  #connect(channel: ServerChannel, hasTerminal: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    // Either side may go away first; what the other still sends is then lost, as with any broken pipe.
    for (const stream of [stdin, stdout, stderr, channel, channel.stderr])
      stream?.on('error', () => undefined);
    if (stdin) channel.pipe(stdin);
    stdout?.pipe(channel, { end: false });
    stderr?.pipe(channel.stderr, { end: false });
    if (hasTerminal) this.#readTerminalPath();
    this.#child.once('exit', (code, signal) => {
      if (signal === null) channel.exit(code ?? 0);
      else channel.exit(signal.slice('SIG'.length), false, '');
    });
    // Not before its output has ended: a process left in the background may still write.
    this.#child.once('close', () => channel.end());
    channel.once('close', () => {
      stdin?.destroy();
      stdout?.destroy();
      stderr?.destroy();
      // Closing a terminal ends its commands; without a terminal a command continues, as under sshd.
      if (hasTerminal) this.#child.kill('SIGKILL');
    });
  }

  #readTerminalPath(): void {
    const report = this.#child.stdio[3];
    if (!report || !('setEncoding' in report)) return;
    let text = '';
    report.setEncoding('utf8');
    report.on('data', (chunk: string) => {
      text += chunk;
      if (/^\/dev\/[\w/]+\n/.test(text)) this.#terminalPath = text.slice(0, text.indexOf('\n'));
    });
    report.on('error', () => undefined);
  }
}
