import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { compilePrograms } from '../harness/docs/programs.js';
import { newFolder } from '../harness/folder.js';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

/**
 * The README's commands, in order, as a new user types them; only the machines are folders, so that nothing
 * is fetched.
 */
describe('the README', () => {
  let folder = '';
  let dev: ChildProcess;
  let environment: NodeJS.ProcessEnv;
  let blocks: readonly { readonly language: string; readonly text: string }[];

  beforeAll(async () => {
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    blocks = [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
      language,
      text,
    }));
    folder = newFolder();
    await chmod(folder, 0o700);
    await symlink(inject('temporalBinary'), join(folder, 'temporal'));
    environment = {
      PATH: `${folder}:${loadConfig().environment['PATH']}`,
      HOME: folder,
      TEMPORAL_CLI: inject('temporalBinary'),
      HEDDLE_DATA_FOLDER: join(folder, 'data'),
    };
    dev = spawn(process.execPath, heddleWords('dev --json --port 0 --ui-port 0 --machines directory'), {
      cwd: root,
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ready = JSON.parse(await readyLine(dev)) as {
      readonly address: string;
      readonly codecEndpoint: string;
    };
    environment = { ...environment, TEMPORAL_ADDRESS: ready.address, CODEC: ready.codecEndpoint };
  });

  afterAll(async () => {
    const ended = once(dev, 'exit');
    dev.kill('SIGTERM');
    await ended;
  });

  it('has commands for a cluster that work in their order', async () => {
    const commands = (blocks.find(({ text }) => text.includes('npx heddle dev'))?.text ?? '')
      .split('\n')
      .map((line) => line.replace(/#.*/, '').trim())
      .filter((line) => line.startsWith('npx heddle') && line !== 'npx heddle dev');
    expect(commands.map((line) => line.split(' ')[2])).toEqual([
      'plan',
      'apply',
      'status',
      'ssh',
      'logs',
      'restart',
      'exec',
      'delete',
    ]);
    const outputs: string[] = [];
    for (const command of commands) {
      const { stdout } = await run(process.execPath, heddleWords(command.replace('npx heddle ', '')), {
        cwd: root,
        env: environment,
      });
      outputs.push(stdout);
    }
    const [
      plan = '',
      apply = '',
      status = '',
      uptime = '',
      logs = '',
      restart = '',
      exec = '',
      deletion = '',
    ] = outputs;
    expect(plan).toContain('6 nodes to create');
    expect(apply).toContain('matches its file: ');
    expect(status).toMatch(/lb-1 +ready/);
    expect(uptime).toContain('load average');
    expect(logs).toContain('the balancer answers at');
    expect(restart).toMatch(/cluster web: restart app: \d+ tasks in/);
    expect(exec.match(/load average/g)).toHaveLength(6);
    expect(deletion).toContain('web');
  });

  it('has a program that compiles under strict and creates a cluster', async () => {
    const programs = compilePrograms('README.md');
    const program = await readFile(join(programs.folder, 'program-1.js'), 'utf8');
    const { stdout: keys } = await run(process.execPath, heddleWords('keys export'), {
      cwd: root,
      env: environment,
    });
    const file = join(programs.folder, 'shown.js');
    await writeFile(
      file,
      `${program}\nconsole.log(status.phase, status.nodes.length);\nawait connection.close();\n`,
    );
    try {
      const { stdout } = await run(process.execPath, [file], {
        cwd: root,
        env: { ...environment, HEDDLE_KEYS: keys },
      });
      expect(stdout).toContain('idle 6');
    } finally {
      programs.remove();
    }
    await run(process.execPath, heddleWords('delete web --yes'), { cwd: root, env: environment });
  });

  it("has commands that start a cluster without Heddle's code, and report when it is ready", async () => {
    const spec: unknown = parse(
      blocks.find(({ language, text }) => language === 'yaml' && text.startsWith('name: hello'))?.text ?? '',
    );
    await writeFile(join(folder, 'hello.json'), JSON.stringify(spec));
    const commands = blocks.find(({ text }) => text.includes('temporal workflow start'))?.text ?? '';
    const [start = '', query = ''] = commands.split(/\n(?=temporal workflow query)/);
    await run('/bin/sh', ['-ec', start], { cwd: folder, env: environment });
    await expect
      .poll(async () => (await run('/bin/sh', ['-ec', query], { cwd: folder, env: environment })).stdout, {
        timeout: 240_000,
        interval: 500,
      })
      .toMatch(/"?phase"?:\s*"?idle/);
    await run(process.execPath, heddleWords('delete hello --yes'), { cwd: root, env: environment });
  });
});

function heddleWords(command: string): string[] {
  return [join(root, 'bin', 'heddle.mjs'), ...command.split(' ')];
}

async function readyLine(child: ChildProcess): Promise<string> {
  let output = '';
  for await (const chunk of child.stdout ?? []) {
    output += String(chunk);
    const line = output.split('\n').find((candidate) => candidate.includes('"ready":true'));
    if (line !== undefined) return line;
  }
  throw new Error(`heddle dev ended before it was ready: ${output}`);
}
