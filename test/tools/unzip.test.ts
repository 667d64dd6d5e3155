import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { newFolder } from '../harness/folder.js';

/**
 * As Python's zipfile writes it: a/stored ("as it is"), a/packed ("again and again …", deflated), and a
 * comment at the end.
 */
const archive = Buffer.from(
  'UEsDBBQAAAAAAAAAIQCzJE6WCAAAAAgAAAAIAAAAYS9zdG9yZWRhcyBpdCBpc1BLAwQUAAAACAAAACEAnX2sxw8AAAAjAAAACAAAAGEvcGFja2VkS0xPzMxTSMxLUUjExQIAUEsB' +
    'AhQDFAAAAAAAAAAhALMkTpYIAAAACAAAAAgAAAAAAAAAAAAAAIABAAAAAGEvc3RvcmVkUEsBAhQDFAAAAAgAAAAhAJ19rMcPAAAAIwAAAAgAAAAAAAAAAAAAAIABLgAAAGEv' +
    'cGFja2VkUEsFBgAAAAACAAIAbAAAAGMAAAAJAGEgY29tbWVudA==',
  'base64',
);

/** Tools are plain JavaScript outside the type-checked tree: they are run, not imported. */
function extract(bytes: Buffer, member: string): string {
  const folder = newFolder();
  try {
    writeFileSync(join(folder, 'archive'), bytes);
    const tool = pathToFileURL(join(import.meta.dirname, '..', '..', 'tools', 'unzip.mjs')).href;
    const code = `const { extractMember } = await import('${tool}'); const { readFileSync } = await import('node:fs');
      process.stdout.write(extractMember(readFileSync(process.argv[1]), process.argv[2]));`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', code, join(folder, 'archive'), member],
      { encoding: 'utf8' },
    );
    return stdout || stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test.each([
  ['a/stored', 'as it is'],
  ['a/packed', 'again and again and again and again'],
])('extracts %s from an archive', (member, content) => {
  expect(extract(archive, member)).toBe(content);
});

test('names a missing file, and refuses a damaged archive', () => {
  expect(extract(archive, 'b')).toContain('the archive holds no b');
  expect(extract(archive.subarray(0, 80), 'a/stored')).toContain('it is not a zip archive');
});
