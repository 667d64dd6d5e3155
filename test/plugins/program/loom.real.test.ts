import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { runHeddle } from '../../harness/cli/run-heddle.js';
import { newFolder } from '../../harness/folder.js';
import { writeFiles } from '../../harness/programs/bench.js';

// The skeletons of the older system's page for authors of plugins, with the `end` of the class that the page omits.

const provider = `#!/usr/bin/env ruby

class MyProvider < Provider

  def create(inputmap)
    flavor = inputmap['flavor']
    image = inputmap['image']
    hostname = inputmap['hostname']
    #
    # implement requesting a machine from provider
    #
    @result['status'] = 0
    @result['result']['foo'] = "bar"
  end

  def confirm(inputmap)
    providerid = inputmap['providerid']
    #
    # implement confirmation/validation of this machine from provider
    #
    @result['status'] = 0
  end

  def delete(inputmap)
    providerid = inputmap['providerid']
    #
    # implement deletion of machine from provider
    #
    @result['status'] = 0
  end
end
`;

const action = (name: string, words: string): string => `
    def ${name}(${words})
      #
      # implement ${name} of a service
      #
      @result['status'] = 0
    end
`;
const actions = ['install', 'configure', 'init', 'start', 'stop', 'remove'];
const automator = `#!/usr/bin/env ruby

  class MyAutomator < Automator
${action('bootstrap', 'ssh_auth_hash')}${actions.map((name) => action(name, 'ssh_auth_hash, script_string, data_string')).join('')}  end
`;

/** What the page says of results, logs and failures, in one plugin. */
const filled = `
class Filled < Provider
  def create(inputmap)
    log.info "asks for #{inputmap['flavor']} of #{@task['config']['image']}"
    puts 'words on standard output'
    @result['status'] = 0
    @result['result']['providerid'] = 'id-1'
    @result['result']['ssh-auth'] = { 'user' => 'root' }
    @result['stdout'] = "my captured stdout message"
    @result['stderr'] = "my captured stderr message"
  end

  def confirm(inputmap)
    raise "no machine #{inputmap['providerid']}"
  end

  def delete(inputmap)
    log.error 'forgets the status'
  end
end
`;

const hasRuby = spawnSync('ruby', ['--version']).status === 0;

describe.skipIf(!hasRuby)('a plugin of the older system, unchanged,', () => {
  const folder = newFolder();
  const form = (name: string, classname: string) => ({ [name]: { classname } });
  writeFiles(folder, {
    'plugins/providers/my_provider/my_provider.json': form('my_provider', 'MyProvider'),
    'plugins/providers/my_provider/my_provider.rb': provider,
    'plugins/providers/filled/filled.json': form('filled', 'Filled'),
    'plugins/providers/filled/cloud.rb': filled,
    'plugins/automators/my-automator/my_automator.json': form('my_automator', 'MyAutomator'),
    'plugins/automators/my-automator/my_automator.rb': automator,
    'heddle.yaml': 'plugins: [./plugins]\n',
  });
  const run = async (name: string, taskName: string, more: object = {}) => {
    const config = {
      flavor: 'small',
      image: 'debian',
      ipaddress: '127.0.0.1',
      'ssh-host-key': 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBtAlTkJ1HbCvSyQYzH6wBnUCSkGzJDiPCkIDL2SjQVi',
      'ssh-auth': { user: 'root', password: 'of-the-older-system' },
    };
    const task = { taskName, config: { ...config, providerid: 'id-1' }, ...more };
    writeFileSync(join(folder, 'task.json'), JSON.stringify(task));
    const { code, stdout, stderr } = await runHeddle(['plugins', 'run', name, 'task.json'], {
      distPath: inject('distPath'),
      cwd: folder,
      env: { HEDDLE_DATA_FOLDER: join(folder, 'data') },
    });
    return { code, stderr, answer: stdout === '' ? undefined : (JSON.parse(stdout) as unknown) };
  };

  it('runs as the skeleton of a provider', async () => {
    expect(await run('my_provider', 'CREATE')).toMatchObject({
      code: 0,
      answer: { status: 0, result: { foo: 'bar' } },
    });
    for (const task of ['CONFIRM', 'DELETE'])
      expect(await run('my_provider', task)).toMatchObject({ code: 0, answer: { status: 0, result: {} } });
  });

  it('runs as the skeleton of an automator', async () => {
    const service = { service: { name: 'web', fields: { script: 'echo', data: 'text' } } };
    for (const task of ['BOOTSTRAP', 'INSTALL', 'CONFIGURE', 'INITIALIZE', 'START', 'STOP', 'REMOVE'])
      expect(await run('my_automator', task, task === 'BOOTSTRAP' ? {} : service), task).toMatchObject({
        code: 0,
        answer: { status: 0 },
      });
  });

  it('returns results and output, writes logs, and fails by an exception or without a status', async () => {
    expect(await run('filled', 'CREATE')).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^info asks for small of debian\n[^]*words on standard output/),
      answer: {
        status: 0,
        result: { providerid: 'id-1', 'ssh-auth': { user: 'root' } },
        stdout: 'my captured stdout message',
        stderr: 'my captured stderr message',
      },
    });
    expect(await run('filled', 'CONFIRM')).toMatchObject({
      code: 1,
      answer: { status: 1, error: { kind: 'Internal', message: 'no machine id-1' } },
    });
    expect(await run('filled', 'DELETE')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error forgets the status'),
      answer: { error: { kind: 'Invalid', message: expect.stringContaining('status is missing') } },
    });
  });
});
