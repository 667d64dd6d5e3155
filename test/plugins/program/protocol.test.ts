import { afterAll, describe, expect, it } from 'vitest';
import { rmSync } from 'node:fs';
import { findPlugins } from '../../../src/plugins/find-plugins.js';
import { formatProblem } from '../../../src/schema/problem.js';
import { negotiateProtocol } from '../../../src/schema/descriptor-program.js';
import { newFolder } from '../../harness/folder.js';
import { openPrograms, providerDescriptor, writeFiles } from '../../harness/programs/bench.js';

const descriptor = (more: object): object => providerDescriptor({ command: ['./p.py'], ...more });

/** Returns the version of its task. */
const program = `#!/usr/bin/env python3
import json, sys
print(json.dumps({"status": 0, "result": {"providerid": "version-%d" % json.load(sys.stdin)["protocol"]}}))
`;

function problemsOf(written: object): readonly string[] {
  const folder = newFolder();
  writeFiles(folder, {
    'providers/p/p.json': JSON.stringify(written, undefined, 2),
    'providers/p/p.py': program,
    'providers/p/p.mjs': 'export class P {}',
  });
  const { problems } = findPlugins([folder]);
  rmSync(folder, { recursive: true, force: true });
  return problems.map((problem) => formatProblem(problem).replaceAll(`${folder}/`, ''));
}

describe('the version of the protocol', () => {
  const opened: { close(): Promise<void> }[] = [];
  afterAll(() => Promise.all(opened.map((bench) => bench.close())));

  it.each([
    [undefined, 1],
    [[1], 1],
    [[99, 1], 1],
    [[2, 99], undefined],
  ])('of a program that speaks %j is %j', (spoken, version) => {
    expect(negotiateProtocol(spoken)).toBe(version);
  });

  it.each([[{}], [{ protocol: [99, 1] }]])('is in the tasks of a program with %j', async (more) => {
    const bench = await openPrograms({ 'providers/p/p.json': descriptor(more), 'providers/p/p.py': program });
    opened.push(bench);
    const outcome = await bench.run('CREATE', 'any', { plugin: 'p' });
    expect(outcome).toMatchObject({ result: { providerid: 'version-1' } });
  });

  it('keeps a worker from starting where it has none in common with a program', () => {
    expect(problemsOf(descriptor({ protocol: [99] }))).toEqual([
      'providers/p/p.json:19:3: protocol: the program speaks only version 99 of the protocol, but this Heddle only 1. ' +
        'Install a version of the plugin for this Heddle, or a Heddle for this version of the plugin.',
    ]);
  });

  it.each([
    [{ protocol: [] }, /protocol: .*/],
    [{ protocol: 1 }, /protocol: /],
    [{ protocol: ['1'] }, /protocol\[0\]: /],
    [{ protocol: [1e9] }, /protocol\[0\]: /],
    [
      { protocol: [1], command: undefined, entry: './p.mjs', class: 'P' },
      /protocol: requires command\. Remove it\.$/,
    ],
  ])('is refused if it is malformed, or of a class: %j', (more, problem) => {
    expect(problemsOf(descriptor(more))).toEqual([expect.stringMatching(problem)]);
  });
});
