import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const sources = join(import.meta.dirname, '..', '..', 'src', 'workflows');

/** Ids of changes that the code asks for, of which no history has a marker: what new runs do there is not replayed. */
function unrecorded(code: readonly string[], histories: readonly string[]): readonly string[] {
  const asked = code.flatMap((text) =>
    [...text.matchAll(/\b(?:deprecatePatch|patched)\(\s*(.*?)\s*\)/g)].map(([, id = '']) => id),
  );
  const recorded = new Set(histories.flatMap(markersOf));
  return [...new Set(asked)].filter((id) => !recorded.has(id.replaceAll(/['"`]/g, '')));
}

interface Event {
  readonly markerRecordedEventAttributes?: {
    readonly details?: Readonly<
      Record<string, { readonly payloads?: readonly { readonly data?: string }[] }>
    >;
  };
}

function markersOf(history: string): readonly string[] {
  const { events = [] } = JSON.parse(history) as { readonly events?: readonly Event[] };
  return events.flatMap(({ markerRecordedEventAttributes: marker }) =>
    Object.values(marker?.details ?? {}).flatMap(({ payloads = [] }) =>
      payloads.flatMap(({ data = '' }) => {
        const { id } = JSON.parse(Buffer.from(data, 'base64').toString('utf8')) as { readonly id?: string };
        return id === undefined ? [] : [id];
      }),
    ),
  );
}

async function read(folder: string, ending: string): Promise<readonly string[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(ending));
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
}

it('each change of a workflow that stands behind patched() occurs in a recorded history', async () => {
  const code = await read(sources, '.ts');
  expect(code.length).toBeGreaterThan(50);
  expect(unrecorded(code, await read(import.meta.dirname, '.json'))).toEqual([]);
});

it('a change without a recording, or one that no text names, is reported', () => {
  const data = Buffer.from(JSON.stringify({ id: '20270101-known', deprecated: false })).toString('base64');
  const details = { 'patch-data': { payloads: [{ data }] } };
  const history = JSON.stringify({ events: [{ markerRecordedEventAttributes: { details } }] });
  const code = [
    `if (patched('20270101-known')) await sleep(1);`,
    `patched('20270102-new'); patched(id); deprecatePatch(\n'20270103-old',\n);`,
  ];
  expect(unrecorded(code, [history])).toEqual([`'20270102-new'`, 'id', `'20270103-old',`]);
});
