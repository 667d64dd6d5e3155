import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/ssh/connect.js';
import type { Connection } from '../../src/ssh/connection.js';
import { type ReadFiles, readFiles, unpack, type WriteFiles, writeFiles } from '../../src/ssh/copy.js';
import { packStream } from '../../src/store/archive/pack-stream.js';
import { newFolder } from '../harness/folder.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';

let node: TestNode;
let connection: Connection;
let programs: string;
const { signal } = new AbortController();

beforeEach(async () => {
  programs = newFolder();
  node = await startNode({ env: { PATH: `${programs}:/usr/sbin:/usr/bin:/sbin:/bin` } });
  connection = await connect(node.target);
});
afterEach(async () => {
  connection.close();
  await node.close();
});

/** Replaces a program of the node. */
function replace(program: string, script: string): void {
  writeFileSync(join(programs, program), `#!/bin/sh\n${script}\n`);
  chmodSync(join(programs, program), 0o755);
}

function write(source: string, what: Partial<WriteFiles>): Promise<void> {
  const archive = packStream(source, { onFailure: (cause) => cause as Error });
  return writeFiles(connection, Readable.from(archive), {
    path: 'to',
    kind: 'folder',
    name: '.',
    signal,
    ...what,
  });
}

function read(what: Partial<ReadFiles>): Promise<readonly string[]> {
  return readFiles(connection, {
    path: 'to',
    signal,
    onKind: () => undefined,
    onChunk: () => undefined,
    ...what,
  });
}

/** With a file in a folder, and one beside it. */
function newSource(): string {
  const source = newFolder();
  mkdirSync(join(source, 'sub'));
  writeFileSync(join(source, 'sub/file'), 'new');
  writeFileSync(join(source, 'top'), 'new');
  return source;
}

describe('a copy to a node', () => {
  it.each(['exit 0', 'echo This account is closed.; exit 0'])(
    'fails where the login shell does "%s"',
    async (does) => {
      node.faults.loginShell = ['/bin/sh', '-c', does, 'sh'];
      const message = expect.stringMatching(
        /^cannot (write to|unpack files) on .*: the login shell of .* does not run commands \(exit code 0/,
      ) as string;
      await expect(write(newSource(), {})).rejects.toMatchObject({ kind: 'Invalid', message });
      await expect(unpack(connection, 'work', Readable.from([]), signal)).rejects.toMatchObject({ message });
    },
  );

  it('is merged into a folder, which a link may name, without the bits for set-user-ID', async () => {
    const source = newSource();
    chmodSync(join(source, 'top'), 0o6755);
    mkdirSync(join(node.home, 'real/sub'), { recursive: true });
    writeFileSync(join(node.home, 'real/sub/file'), 'old');
    symlinkSync('real', join(node.home, 'to'));
    await write(source, {});
    expect(readFileSync(join(node.home, 'real/sub/file'), 'utf8')).toBe('new');
    expect(statSync(join(node.home, 'real/top')).mode & 0o7777).toBe(0o755);
    expect(readdirSync(join(node.home, 'real')).toSorted()).toEqual(['sub', 'top']);
  });

  it.each<[string, () => void]>([
    ['a link', () => symlinkSync('../outside', join(node.home, 'to/sub'))],
    ['a file', () => writeFileSync(join(node.home, 'to/sub'), '')],
  ])('is refused as a whole if %s is in place of a folder', async (_what, make) => {
    for (const name of ['to', 'outside']) mkdirSync(join(node.home, name));
    make();
    await expect(write(newSource(), {})).rejects.toThrow(/\.\/to\/sub is (a link, )?not a folder/);
    expect([readdirSync(join(node.home, 'outside')), readdirSync(join(node.home, 'to'))]).toEqual([
      [],
      ['sub'],
    ]);
  });

  it('is refused as a whole if a folder is in place of a file, or a link in place of itself', async () => {
    mkdirSync(join(node.home, 'to/top'), { recursive: true });
    await expect(write(newSource(), {})).rejects.toThrow(/\.\/to\/top is a folder/);
    expect(readdirSync(join(node.home, 'to'))).toEqual(['top']);
    symlinkSync('top', join(node.home, 'to/named'));
    await expect(write(newSource(), { name: 'named' })).rejects.toThrow(/named is a link, not a folder/);
    expect(readdirSync(join(node.home, 'to/top'))).toEqual([]);
  });

  it('says that a part is in place if placing fails', async () => {
    mkdirSync(join(node.home, 'to'));
    replace('mv', 'exit 1');
    await expect(write(newSource(), {})).rejects.toThrow(/only a part of it is in place$/);
  });
});

describe('a copy from a node', () => {
  it('is complete with warnings that tar gives in English, and with no other failure', async () => {
    mkdirSync(join(node.home, 'to'));
    replace('tar', 'echo "tar: $LC_ALL: file changed as we read it" >&2; exit 1');
    expect(await read({})).toEqual(['tar: C: file changed as we read it']);
    replace('tar', 'exit 1');
    await expect(read({})).rejects.toThrow(/^cannot read to on .*: exit code 1$/);
  });

  it('passes nothing on after its signal', async () => {
    writeFileSync(join(node.home, 'to'), Buffer.alloc(3_000_000));
    // Several chunks may arrive at once.
    for (let last = 1; last <= 8; last++) {
      const stop = new AbortController();
      let chunks = 0;
      const onChunk = (): void => {
        if (++chunks === last) stop.abort(new Error('the user said stop'));
      };
      await expect(read({ signal: stop.signal, onChunk })).rejects.toThrow('the user said stop');
      // A second command, after whose end nothing of the first is under way.
      await read({});
      expect(chunks).toBe(last);
    }
  });
});

it('a copy as root begins in the home of the login user', async () => {
  const root = newFolder();
  replace('sudo', `shift 2; HOME=${root} exec "$@"`);
  await write(newSource(), { sudo: true });
  expect(readdirSync(join(node.home, 'to')).toSorted()).toEqual(['sub', 'top']);
  await read({ path: 'to/top', sudo: true });
  expect(existsSync(join(root, 'to'))).toBe(false);
});

it('a copy as root that sudo refuses fails as any login that is refused', async () => {
  replace('sudo', 'echo "sudo: a password is required" >&2; exit 1');
  const refused = expect.objectContaining({
    kind: 'Auth',
    message: expect.stringMatching(
      /^cannot write to on .*: sudo -n does not let .* \(sudo: a password is required\)/,
    ),
  });
  await expect(write(newSource(), { sudo: true })).rejects.toEqual(refused);
  await expect(read({ path: 'to', sudo: true })).rejects.toMatchObject({ kind: 'Auth' });
});
