import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packStream } from '../../../src/store/archive/pack-stream.js';
import { newFolder } from '../../harness/folder.js';

describe('a packed folder', () => {
  it('reports each file, its bytes as they are read, and what stays behind', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'sub'));
    writeFileSync(join(folder, 'sub/large'), Buffer.alloc(20_000_001));
    linkSync(join(folder, 'sub/large'), join(folder, 'same'));
    writeFileSync(join(folder, 'empty'), '');
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    let files = 0;
    const counts: number[] = [];
    const skipped: string[] = [];
    const archive = packStream(folder, {
      onFile: () => void files++,
      onBytes: (count) => void counts.push(count),
      onSkip: (path) => void skipped.push(path),
      onFailure: (cause) => cause as Error,
    });
    let packed = 0;
    for await (const chunk of archive) packed += chunk.length;
    expect({ files, bytes: counts.reduce((sum, count) => sum + count, 0), skipped }).toEqual({
      files: 3,
      bytes: 20_000_001,
      skipped: ['./pipe'],
    });
    expect(counts.length).toBeGreaterThan(1);
    expect(packed).toBeLessThan(100_000);
  });
});
