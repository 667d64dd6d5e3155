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
  let readme: string;

  beforeAll(async () => {
    readme = await readFile(join(root, 'README.md'), 'utf8');
    folder = newFolder();
    await chmod(folder, 0o700);
    await symlink(inject('temporalBinary'), join(folder, 'temporal'));
    await symlink(join(root, 'bin', 'heddle.mjs'), join(folder, 'heddle'));
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

  it('has commands for its cluster that work in their order', async () => {
    await writeFile(join(folder, 'hello.yaml'), block(readme, 'yaml', 'name: hello'));
    const commands = block(readme, 'sh', 'heddle plan')
      .split('\n')
      .map((line) => line.replace(/ #.*/, '').trim())
      .filter((line) => line !== '');
    const outputs: string[] = [];
    for (const command of commands) {
      const line = command.startsWith('heddle delete') ? `${command} --yes` : command;
      outputs.push(await shell(line));
    }
    expect(commands.map((line) => line.split(' ')[1])).toEqual(['plan', 'apply', 'exec', 'scale', 'delete']);
    const [plan, apply, exec, scale, deletion] = outputs;
    expect(plan).toContain('2 nodes to create');
    expect(apply).toMatch(/hello matches its file: 2 nodes[^]*hosts +\["hello-web-1","hello-web-2"\]/);
    for (const node of ['web-1', 'web-2'])
      expect(exec).toMatch(new RegExp(`${node}:\nhello from ${node}\nweb-1 127\\.`));
    expect(scale).toMatch(/web-1 CONFIGURE[^]*web-3/);
    expect(deletion).toContain('cluster hello is deleted');
  });

  it('has a program that compiles under strict and creates a cluster', async () => {
    const programs = compilePrograms('README.md');
    const program = await readFile(join(programs.folder, 'program-1.js'), 'utf8');
    const keys = await shell('heddle keys export');
    const file = join(programs.folder, 'shown.js');
    await writeFile(
      file,
      `${program}\nconsole.log(status.phase, status.nodes.length);\nawait connection.close();\n`,
    );
    try {
      const { stdout } = await run(process.execPath, [file], {
        cwd: folder,
        env: { ...environment, HEDDLE_KEYS: keys },
      });
      expect(stdout).toContain('idle 2');
    } finally {
      programs.remove();
    }
    await shell('heddle delete hello --yes');
  });

  it('and its guide show how to start a cluster without code of Heddle', async () => {
    const guide = await readFile(join(root, 'docs/guides/embedding.md'), 'utf8');
    await writeFile(join(folder, 'hello.json'), JSON.stringify(parse(block(readme, 'yaml', 'name: hello'))));
    const commands = block(guide, 'sh', 'temporal workflow start');
    const [start = '', query = ''] = commands.split(/\n(?=temporal workflow query)/);
    await shell(start);
    await expect.poll(() => shell(query), { timeout: 240_000, interval: 500 }).toMatch(/"?phase"?:\s*"?idle/);
    await shell('heddle delete hello --yes');
  });

  async function shell(line: string): Promise<string> {
    const { stdout } = await run('/bin/sh', ['-ec', line], { cwd: folder, env: environment });
    return stdout;
  }
});

/** The code of a page in a language that begins so. */
function block(page: string, language: string, begin: string): string {
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const found = blocks.find(([, of, text = '']) => of === language && text.startsWith(begin));
  if (found?.[2] === undefined) throw new Error(`the page has no ${language} that begins with ${begin}`);
  return found[2];
}

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
