import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TaskResult } from '../../src/plugins/contract.js';
import { prepareTool } from '../../src/plugins/node-tool.js';
import { UniformAutomator } from '../../src/plugins/uniform-automator.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { closeAll, toolOn } from '../harness/automators/tool.js';

const tool = {
  name: 'loom',
  commands: ['loom-old', 'loom'],
  packages: { apt: 'loom-agent', dnf: 'loom', zypper: 'loom' },
  advice: 'choose an image with loom',
};

class Loom extends UniformAutomator {
  override async bootstrap(): Promise<void> {
    await prepareTool(this.shell, tool);
  }

  override carryOut(): Promise<TaskResult> {
    return Promise.resolve({});
  }
}

/** A package manager that notes what it is asked, and installs one program. */
const packageManager = `#!/bin/sh
echo "$*" >> "$HOME/asked"
if [ -e "$HOME/broken" ]; then echo "E: Unable to locate package loom-agent" >&2; exit 100; fi
case $* in *install*) printf '#!/bin/sh\\n' > "$HOME/bin/loom"; chmod 755 "$HOME/bin/loom" ;; esac
`;

let node: TestNode;
let operation = 0;
beforeEach(async () => {
  node = await startNode();
  mkdirSync(join(node.home, 'bin'));
  // This sudo treats every login as root.
  for (const [name, text] of [
    ['apt-get', packageManager],
    ['sudo', '#!/bin/sh\nwhile [ "$1" != sh ]; do shift; done\nexec "$@"\n'],
  ] as const) {
    writeFileSync(join(node.home, 'bin', name), text, { mode: 0o755 });
  }
  node.env['PATH'] = `${join(node.home, 'bin')}:${node.env['PATH'] ?? ''}`;
});
afterEach(async () => {
  await closeAll();
  await node.close();
});

const bootstrap = (): Promise<void> => toolOn(Loom, node, {}, `op-${operation++}`).automator.bootstrap();
const asked = (): readonly string[] =>
  readFileSync(join(node.home, 'asked'), 'utf8')
    .trim()
    .split('\n')
    .filter((line) => line.includes('install'));

test('missing tools are installed, and a second BOOTSTRAP only checks', async () => {
  await bootstrap();
  expect(asked()).toEqual([expect.stringMatching(/install -y .* loom-agent$/)]);
  const before = node.commands.length;
  await bootstrap();
  expect([node.commands.length - before, asked().length]).toEqual([1, 1]);
});

test('tools that were removed since are installed again', async () => {
  await bootstrap();
  rmSync(join(node.home, 'bin', 'loom'));
  await bootstrap();
  expect(asked().length).toBe(2);
});

test("tools that cannot be installed fail BOOTSTRAP with the package manager's message and a remedy, and are tried again", async () => {
  writeFileSync(join(node.home, 'broken'), '');
  await expect(bootstrap()).rejects.toMatchObject({
    kind: 'ScriptFailed',
    message: expect.stringMatching(
      /loom-old or loom, and installing it ended with exit code 100: E: Unable to locate package loom-agent; choose an image with loom/,
    ),
  });
  rmSync(join(node.home, 'broken'));
  await bootstrap();
  expect(asked().length).toBe(1);
});
