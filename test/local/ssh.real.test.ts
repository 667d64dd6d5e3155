import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { TestService, until, type Machine } from '../harness/local/service.js';
import {
  connect,
  exec,
  hasSystemSsh,
  makeKeyPair,
  openExec,
  outcomeOf,
  runs,
  runSystemSsh,
  type KeyPair,
} from '../harness/local/ssh.js';

const kinds = [
  { title: 'a directory', args: ['--kind', 'directory'] },
  { title: 'a sandbox with our SSH server', args: ['--kind', 'auto', '--sshd', 'none'] },
  { title: 'a sandbox with OpenSSH where it is installed', args: ['--kind', 'auto'] },
];

describe.each(kinds)('SSH of $title', ({ title, args }) => {
  let service: TestService;
  let machine: Machine;
  let key: KeyPair;
  beforeAll(async () => {
    service = await TestService.start(args);
    key = makeKeyPair();
    machine = await service.createRunning({ publicKeys: [key.public], hostname: 'web-1' });
  });

  /** Whether this system can make what the title says; the reason is shown where it cannot. */
  const needs = (context: TestContext): void => {
    context.skip(
      title.includes('sandbox') && service.about.kind !== 'sandbox',
      'sandboxes need Linux, root and the right to mount',
    );
    context.skip(
      title.includes('OpenSSH') && service.about.sshServer === 'ssh2',
      "OpenSSH's server is not installed",
    );
  };

  it("lets the system's ssh log in with a key, under the host key that the service reports", async (context) => {
    needs(context);
    context.skip(!hasSystemSsh, 'there is no /usr/bin/ssh');
    const outcome = await runSystemSsh(
      machine,
      key,
      ['echo out; echo err >&2; cat; pwd; exit 3'],
      'from stdin\n',
    );
    expect(outcome).toMatchObject({ code: 3, stderr: 'err\n' });
    expect(outcome.stdout).toMatch(/^out\nfrom stdin\n\//);
  });

  it('refuses a wrong password, a wrong user and an unknown key', async (context) => {
    needs(context);
    await expect(connect(machine, { password: 'wrong' })).rejects.toThrow('authentication');
    await expect(connect(machine, { user: 'nobody-here' })).rejects.toThrow('authentication');
    context.skip(!hasSystemSsh, 'there is no /usr/bin/ssh');
    expect((await runSystemSsh(machine, makeKeyPair(), ['true'])).code).toBe(255);
  });

  it('accepts a key that was added on the machine', async (context) => {
    needs(context);
    context.skip(!hasSystemSsh, 'there is no /usr/bin/ssh');
    const added = makeKeyPair();
    await exec(machine, `echo '${added.public}' >>"$HOME/.ssh/authorized_keys"`);
    expect((await runSystemSsh(machine, added, ['exit 4'])).code).toBe(4);
  });

  it('reports exit codes, and the signal that ended a command', async (context) => {
    needs(context);
    expect(await exec(machine, 'exit 0')).toMatchObject({ code: 0 });
    expect(await exec(machine, 'exit 200')).toMatchObject({ code: 200 });
    expect(await exec(machine, 'no-such-program-here')).toMatchObject({ code: 127 });
    const ended = await exec(machine, 'kill -KILL $$');
    expect(ended.signal).toMatch(/^(SIG)?KILL$/);
  });

  it('reports the exit code of a command that closed its outputs before it ended', async (context) => {
    needs(context);
    const client = await connect(machine);
    const channel = await openExec(client, 'cat; exec >&- 2>&-; sleep 0.3; exit 9');
    const outcome = outcomeOf(channel);
    channel.end('eof\n');
    expect(await outcome).toMatchObject({ code: 9, stdout: 'eof\n' });
    client.end();
  });

  it('passes a signal on to the command', async (context) => {
    needs(context);
    context.skip(
      service.about.sshServer !== 'ssh2',
      'OpenSSH passes no signals to sessions of root: it needs its privilege separation for that',
    );
    const client = await connect(machine);
    const channel = await openExec(
      client,
      'trap "echo got it; exit 5" TERM; echo ready; while :; do sleep 0.05; done',
    );
    const outcome = outcomeOf(channel);
    await once(channel, 'data');
    channel.signal('TERM');
    expect(await outcome).toMatchObject({ code: 5, stdout: 'ready\ngot it\n' });
    client.end();
  });

  it('continues to send after the client closed its side', async (context) => {
    needs(context);
    const client = await connect(machine);
    const channel = await openExec(
      client,
      'read -r word; cat >/dev/null; sleep 0.1; echo "after $word"; exit 6',
    );
    const outcome = outcomeOf(channel);
    channel.end('eof\n');
    expect(await outcome).toMatchObject({ code: 6, stdout: 'after eof\n' });
    client.end();
  });

  it('transfers 20 MB in each direction unchanged', async (context) => {
    needs(context);
    const client = await connect(machine);
    const channel = await openExec(client, 'cat');
    const data = randomBytes(20 * 1024 * 1024);
    const hash = createHash('sha256');
    channel.on('data', (chunk: Buffer) => hash.update(chunk));
    channel.end(data);
    await once(channel, 'close');
    expect(hash.digest('hex')).toBe(createHash('sha256').update(data).digest('hex'));
    client.end();
  });

  it('stops a command whose output is not read, and ends it when its reader is gone', async (context) => {
    needs(context);
    const word = `heddle-test-${randomBytes(6).toString('hex')}`;
    const client = await connect(machine);
    const channel = await openExec(
      client,
      `: ${word}; i=0; while printf %1048576s x; do i=$((i+1)); echo $i >"$HOME/${word}"; done`,
    );
    const writtenMb = async () => Number((await exec(machine, `cat "$HOME/${word}"`)).stdout);
    let last = -1;
    await until(async () => {
      const before = last;
      last = await writtenMb();
      return last === before;
    });
    expect(last).toBeLessThan(20);
    channel.close();
    await until(async () => !runs(word));
    client.end();
  });

  it('provides a terminal of the requested size, and follows its changes', async (context) => {
    needs(context);
    context.skip(
      process.platform !== 'linux' && service.about.sshServer === 'ssh2',
      "terminals of our server need util-linux's script",
    );
    const client = await connect(machine);
    const channel = await openExec(
      client,
      'trap "stty size" WINCH; stty size; while [ ! -e "$HOME/sized" ]; do sleep 0.05; done; exit 7',
      { term: 'xterm', rows: 33, cols: 101 },
    );
    let seen = '';
    channel.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
    });
    const outcome = outcomeOf(channel);
    await until(async () => seen.includes('33 101'));
    channel.setWindow(44, 111, 0, 0);
    // Rows and columns may come one after the other.
    await until(async () => seen.includes('44 111'));
    await exec(machine, 'touch "$HOME/sized"');
    expect((await outcome).code).toBe(7);
    client.end();
  });

  it('leaves a command running when its connection is cut', async (context) => {
    needs(context);
    const client = await connect(machine);
    const channel = await openExec(client, 'echo ready; sleep 0.3; echo survived >"$HOME/survived"');
    await once(channel, 'data');
    client.destroy();
    await until(async () => (await exec(machine, 'cat "$HOME/survived"')).stdout === 'survived\n');
  });

  it('copies files with sftp if the system has its server', async (context) => {
    needs(context);
    const client = await connect(machine);
    const offered = await new Promise<boolean>((resolve) =>
      client.sftp((error) => resolve(error === undefined)),
    );
    client.end();
    context.skip(!offered, 'there is no sftp-server program');
    expect(offered).toBe(true);
  });

  it('ends every process with the machine, in the background and in other sessions too', async (context) => {
    needs(context);
    const word = `heddle-test-${randomBytes(6).toString('hex')}`;
    const victim = await service.createRunning();
    await exec(victim, `(setsid sh -c 'sleep 1000; : ${word}' >/dev/null 2>&1 </dev/null &)`);
    await until(async () => runs(word));
    await service.call('POST', `/v1/machines/${victim.id}/kill`);
    await until(async () => !runs(word));
  });
});
