import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { Excerpt } from '../../src/ssh/excerpt.js';
import { type Frame, readFrames } from '../../src/ssh/frames.js';
import { compact, programText, programTextBeforeInput, remoteCommand } from '../../src/ssh/remote-command.js';
import { parseResults } from '../../src/ssh/results.js';
import { findCommand } from '../harness/node-bin.js';
import { fc } from '../harness/property.js';

async function* inPieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function read(bytes: Buffer, sizes: readonly number[] = [bytes.length || 1]): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of readFrames(inPieces(bytes, sizes), 'N0')) frames.push(frame);
  return frames;
}

const wire = (parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

describe('frames', () => {
  test('output passes byte for byte, for any chunks and content', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            stream: fc.constantFrom('o', 'e', 'O', 'E', 'R'),
            bytes: fc.oneof(
              fc.uint8Array({ maxLength: 50 }),
              fc.constant(Buffer.from('\nN1 end exit 0\nN1 o 5\n\nN')),
            ),
          }),
          { maxLength: 6 },
        ),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
        async (pieces, sizes) => {
          const bytes = wire([
            'motd without end\nN0 hello\n',
            ...pieces.flatMap(({ stream, bytes: content }) =>
              'oe'.includes(stream)
                ? [`N0 ${stream} ${content.length}\n`, Buffer.from(content)]
                : [`N0 ${stream}\n`, Buffer.from(content), '\n'],
            ),
            'N0 end exit 0\n',
          ]);
          const frames = await read(bytes, sizes);
          for (const [letters, stream] of [
            ['oO', 'stdout'],
            ['eE', 'stderr'],
            ['R', 'result'],
          ] as const) {
            const got = frames.flatMap((frame) =>
              frame.kind === 'output' && frame.stream === stream ? [frame.chunk] : [],
            );
            expect(Buffer.concat(got)).toEqual(
              Buffer.concat(
                pieces
                  .filter((piece) => letters.includes(piece.stream))
                  .map((piece) => Buffer.from(piece.bytes)),
              ),
            );
          }
          expect(frames.flatMap((frame) => (frame.kind === 'line' ? [frame.words] : []))).toEqual([
            ['hello'],
            ['end', 'exit', '0'],
          ]);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('a stream that is cut ends without an error', async () => {
    expect(await read(wire(['\nN0 hello\nN0 o 10\nabc']))).toEqual([
      { kind: 'line', words: ['hello'] },
      { kind: 'output', stream: 'stdout', chunk: Buffer.from('abc') },
    ]);
  });

  test.each([
    ['foreign lines after ours', '\nN0 hello\nsomething else\n'],
    ['a size that is none', 'N0 o -5\n'],
    ['a line without end', `N0 hello\n${'x'.repeat(20_000)}`],
    ['noise without end', 'x'.repeat(1_100_000)],
  ])('%s are refused', async (_name, text) => {
    await expect(read(Buffer.from(text), [8_192])).rejects.toThrow(/unexpected output|without end/);
  });
});

test("output of a node's command is printable in the words of a line", async () => {
  expect(await read(wire(['N0 hello\nN0 fail folder mkdir:\t\x1b[31mno\x07\r\n']))).toEqual([
    { kind: 'line', words: ['hello'] },
    { kind: 'line', words: ['fail', 'folder', 'mkdir:', '?[31mno?'] },
  ]);
});

describe('an excerpt', () => {
  const excerptOf = (bytes: Buffer, size: number): string => {
    const excerpt = new Excerpt();
    for (let at = 0; at < bytes.length; at += size) excerpt.add(bytes.subarray(at, at + size));
    return excerpt.toString();
  };

  test('keeps short text completely', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 3_000 }),
        fc.integer({ min: 1, max: 100 }),
        (text, size) => {
          expect(excerptOf(Buffer.from(text), size)).toBe(Buffer.from(text).toString());
        },
      ),
    );
  });

  test.each([1, 1_000, 32_768, 65_536, 1_000_000])(
    'keeps both ends of long text, in chunks of %i',
    (size) => {
      const bytes = Buffer.from(Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join(''));
      const text = excerptOf(bytes, size);
      expect(text.startsWith(bytes.toString('utf8', 0, 32_768))).toBe(true);
      expect(text.endsWith(bytes.toString('utf8', bytes.length - 32_768))).toBe(true);
      expect(text).toContain(`\n[... ${bytes.length - 65_536} bytes omitted ...]\n`);
    },
  );

  test('splits no character', () => {
    for (const shift of ['', 'x', 'xx', 'xxx'])
      expect(excerptOf(Buffer.from(shift + '€😀ü'.repeat(20_000)), 777)).not.toContain('\uFFFD');
  });

  test('accepts binary bytes', () => {
    expect(excerptOf(Buffer.alloc(100_000, 0xff), 999)).toContain('bytes omitted');
  });
});

test('results are read strictly', () => {
  expect(parseResults(Buffer.from('a=1\n\nb=x = y\r\na=2'))).toEqual({ a: '2', b: 'x = y' });
  for (const line of ['=x', '1a=x', 'a b=x', '__proto__=x', 'ä=x', `${'k'.repeat(65)}=x`]) {
    expect(() => parseResults(Buffer.from(`ok=1\n${line}`))).toThrow('line 2');
  }
});

test('the command for the login shell contains nothing that shells read differently', () => {
  const inner =
    /^(?:mkdir -m 700 -p(?: "\$HOME\/[.\w/]+")+; exec sudo -n -H |exec )sh (?:-s|-c '([^']*)' heddle)(?: "\$HOME")?$/;
  for (const [user, sudo] of [
    ['app', false],
    ['app', true],
    ['root', true],
  ] as const)
    for (const input of ['program', 'programAndInput', 'programs'] as const) {
      const [command, program = ''] = inner.exec(remoteCommand({ user }, { sudo, input })) ?? [];
      expect(command).toBeDefined();
      // Many images for root alone have no sudo.
      expect(command?.includes('sudo')).toBe(user !== 'root' && sudo);
      // For csh, ! stands for itself only before a blank.
      expect(program).not.toMatch(/!(?! )|\n|\\(?!n)/);
    }
});

test('a program keeps its lines and loses comments and indentation', () => {
  expect(compact('\n# why\nif x; then\n  # also why\n  y "#z"\nfi\n')).toBe('if x; then\ny "#z"\nfi');
  const text = { program: 'x', nonce: 'N0', variables: { a: `it's`, b: 1 }, prelude: ' # as it is\n' };
  const expected = `nonce=N0\na='it'\\''s'\nb=1\nheddle_program() {\n # as it is\nx\n}\n{ heddle_program "$@"; exit; }\n`;
  expect(programText(text)).toBe(expected);
  expect(programTextBeforeInput(text)).toBe(`#N0\n${expected}#N0\n`);
});

test.each(['dash', 'bash', 'busybox'])(
  '%s does nothing with a program that is cut anywhere',
  async (shell) => {
    const command = findCommand(shell);
    if (command === undefined) return;
    const text = programText({
      program: 'f() { echo effect; }\nf "$@"',
      nonce: 'N0',
      variables: { a: 'b c' },
    });
    const run = (input: string): string =>
      spawnSync(command, [...(shell === 'busybox' ? ['sh'] : []), '-s'], { input, encoding: 'utf8' }).stdout;
    expect(run(text)).toBe('effect\n');
    const cuts = Array.from({ length: text.length - 2 }, (_, length) => text.slice(0, length));
    expect(cuts.filter((cut) => run(cut) !== '')).toEqual([]);
  },
);
