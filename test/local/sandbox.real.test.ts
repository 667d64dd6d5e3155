import { existsSync, readFileSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder, TestService, until, type Machine } from '../harness/local/service.js';
import { exec } from '../harness/local/ssh.js';

const variants = [
  { server: 'our SSH server', args: ['--sshd', 'none'] },
  { server: 'OpenSSH', args: [] },
];

describe.each(variants)('a sandbox with $server', ({ server, args }) => {
  let service: TestService;
  let machine: Machine;
  beforeAll(async () => {
    service = await TestService.start(['--kind', 'auto', ...args]);
    machine = await service.createRunning({ hostname: 'box-1' });
  });
  beforeEach((context) => {
    context.skip(service.about.kind !== 'sandbox', 'sandboxes need Linux, root and the right to mount');
    context.skip(
      server === 'OpenSSH' && service.about.sshServer === 'ssh2',
      "OpenSSH's server is not installed",
    );
  });

  it('writes to its own copy of the system: the host and other sandboxes do not see it', async () => {
    const other = await service.createRunning({ hostname: 'box-2' });
    const file = `/etc/heddle-test-${process.pid}`;
    expect(await exec(machine, `echo mine >${file} && rm /etc/profile && cat ${file}`)).toMatchObject({
      code: 0,
      stdout: 'mine\n',
    });
    expect(existsSync(file)).toBe(false);
    expect(existsSync('/etc/profile')).toBe(true);
    expect((await exec(other, `cat ${file}`)).code).not.toBe(0);
  });

  it('has its own host name, processes and temporary files', async () => {
    const before = hostname();
    const outcome = await exec(machine, 'hostname; cat /proc/1/comm; ps ax | wc -l; ls -A /tmp | wc -l');
    const [name, first, processes, files] = outcome.stdout.split('\n');
    expect(name).toBe('box-1');
    expect(first).toBe('sh');
    expect(Number(processes)).toBeLessThan(12);
    expect(Number(files)).toBe(0);
    expect(hostname()).toBe(before);
  });

  it("sees neither the users' homes nor the data folder", async () => {
    expect((await exec(machine, 'ls -A /home; ls -A /root')).stdout.trim()).toBe('.ssh');
    expect((await exec(machine, `ls -A '${service.folder}'`)).stdout).toBe('');
    expect((await exec(machine, `cat '${service.folder}/api-key'`)).code).not.toBe(0);
  });

  it('hides a data folder that is not masked by other rules', async () => {
    const folder = `/var/tmp/heddle-local-test-${process.pid}`;
    const apart = await TestService.start(['--kind', 'auto', ...args], folder);
    try {
      const inside = await apart.createRunning();
      expect(await exec(inside, `[ -d ${folder} ] && ls -A ${folder} | wc -l`)).toMatchObject({
        stdout: '0\n',
      });
    } finally {
      await apart.end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('finds a Node, and resolves its own name', async () => {
    expect((await exec(machine, 'node --version')).stdout).toMatch(/^v\d+/);
    expect((await exec(machine, 'getent hosts box-1')).stdout).toContain(machine.address);
  });

  it('reaps orphaned processes', async () => {
    await exec(machine, '(setsid sh -c "sleep 0.05" &) ; (setsid sh -c "sleep 0.05" &)');
    await until(async () => (await exec(machine, 'ps -eo stat= | grep -c "^Z"')).stdout === '0\n');
  });

  it('has failed once its first process has ended', async () => {
    const victim = await service.createRunning();
    await exec(victim, "kill -9 $(ps -eo pid=,ppid= | awk '$2 == 1 { print $1; exit }')").catch(
      () => undefined,
    );
    expect((await service.waitForState(victim.id, 'failed')).reason).toContain('its first process ended');
    await service.call('POST', `/v1/machines/${victim.id}/power`, { power: 'on' });
    expect((await service.waitForState(victim.id, 'running')).password).toBe(victim.password);
  });

  it('leaves no mount behind', async () => {
    const folder = temporaryFolder();
    const short = await TestService.start(['--kind', 'auto', ...args], folder);
    await short.createRunning();
    await short.end('SIGTERM');
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(folder.replaceAll(' ', '\\040'));
  });
});
