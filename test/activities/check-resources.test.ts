import { describe, expect, it } from 'vitest';
import { checkResources } from '../../src/activities/artifact/check.js';
import { openResources } from '../../src/activities/artifact/open.js';
import type { Attempt } from '../../src/activities/attempt.js';
import type { Resources } from '../../src/activities/parts.js';
import type { Json } from '../../src/model/json.js';
import type { Descriptor } from '../../src/schema/descriptor.js';
import { checkFields } from '../../src/schema/fields.js';
import { formatProblem } from '../../src/schema/problem.js';

const digest = `sha256:${'a'.repeat(64)}`;
const pinned = { resource: 'books', version: 2, digest, format: 'archive' };
const plugin = {
  resources: { books: { format: 'archive', permissions: '0440' } },
  fields: {
    admin: {},
    required: { admin: [], user: [] },
    user: {
      books: { title: 'Books', type: 'resource', resource: 'books' },
      path: { title: 'Path', type: 'string', resource: 'books' },
      data: { title: 'Data', type: 'json' },
      line: { title: 'Line', type: 'string' },
    },
  },
} as unknown as Descriptor;

describe('fields that take resources', () => {
  it.each<[string, Json, readonly string[]]>([
    ['a name', { resource: 'books' }, []],
    ['a version', { resource: 'books', version: 3 }, []],
    ['what is bound', pinned, []],
    ['a text', 'books', ['books: should be a mapping']],
    ['a bad name', { resource: '../books' }, ['books.resource:']],
    ['more', { resource: 'books', as: 'x' }, ['books.as: is an unknown key']],
    ['version 0', { resource: 'books', version: 0 }, ['books.version:']],
  ])('take or refuse %s', (_what, value, wrong) => {
    const { problems } = checkFields(plugin, 'user', { books: value }, []);
    expect(problems.map(formatProblem)).toEqual(wrong.map((text) => expect.stringContaining(text)));
  });

  it('may be texts if they are strings; other strings may not be resources', () => {
    expect(checkFields(plugin, 'user', { path: '/srv/books' }, []).problems).toEqual([]);
    expect(checkFields(plugin, 'user', { path: pinned }, []).problems).toEqual([]);
    expect(checkFields(plugin, 'user', { line: pinned }, []).problems).toHaveLength(1);
  });

  it('must be bound to content of the right format when an operation is planned', () => {
    const wrong = (fields: Record<string, Json>): readonly string[] =>
      checkResources(plugin, fields, ['fields']).map(formatProblem);
    expect(wrong({ books: pinned, path: '/srv', data: { resource: 'mine' } })).toEqual([]);
    expect(wrong({ books: { ...pinned, format: 'file' } })).toEqual([
      'fields.books: names resource "books", which is a file; an archive is needed. Put a folder, or a tar archive.',
    ]);
    expect(wrong({ path: { resource: 'books' } })).toEqual([
      expect.stringMatching(
        /^fields.path: names resource "books", which does not exist or has no set version\. Run 'heddle resource list books'/,
      ),
    ]);
  });

  it('contain the path when the plugin is called, and the task has the rest; other fields stay the same', async () => {
    const asked: unknown[] = [];
    const resources: Resources = (resource, permissions) => {
      asked.push([resource, permissions]);
      return Promise.resolve({ path: '/store/files', archive: '/store/archive.tar' });
    };
    const attempt = { at: () => undefined, signal: new AbortController().signal } as unknown as Attempt;
    expect(
      await openResources({ resources }, plugin, { books: pinned, data: pinned, line: 'x' }, attempt),
    ).toEqual({
      fields: { books: '/store/files', data: pinned, line: 'x' },
      resources: {
        books: {
          resource: 'books',
          digest,
          format: 'archive',
          path: '/store/files',
          archive: '/store/archive.tar',
        },
      },
    });
    expect(asked).toEqual([[pinned, 0o440]]);
    const undeclared = { name: 'seed' } as unknown as Descriptor;
    expect((await openResources({ resources }, undeclared, { any: pinned }, attempt)).fields).toEqual({
      any: '/store/files',
    });
  });
});
