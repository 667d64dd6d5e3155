import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAccountsPage, type AccountsPage } from '../../../src/cli/account/page/server.js';
import { openWorkspace } from '../../../src/cli/account/workspace.js';
import { startMachineService } from '../../../src/testing/machine-service.js';
import { descriptorSchema, descriptorsOfSeed, fillDescriptor } from '../../../src/schema/descriptor.js';
import { newFolder } from '../../harness/folder.js';

const hostile = '"><script>alert(1)</script>';

/** A plugin whose every word is markup. */
const descriptor = fillDescriptor(
  descriptorSchema.parse({
    name: 'nasty',
    type: 'provider',
    entry: './nasty.mjs',
    class: 'Nasty',
    version: '1.0.0',
    description: `About ${hostile}`,
    fields: {
      admin: {
        url: { title: `Title ${hostile}`, type: 'string', description: `Text ${hostile}` },
        kind: { title: 'Kind', type: 'select', options: [hostile, "it's"] },
        certificate: { title: 'Certificate', type: 'text', secret: true },
      },
      user: {},
      required: { admin: [['url']], user: [] },
    },
  }),
);

describe('the page for provider accounts', () => {
  let folder: string;
  let file: string;
  let page: AccountsPage;
  beforeAll(async () => {
    folder = newFolder();
    file = join(folder, 'heddle.yaml');
    page = await startAccountsPage({
      open: async () => {
        const workspace = await openWorkspace({ file });
        return {
          ...workspace,
          descriptors: [
            ...workspace.descriptors,
            descriptor,
            ...descriptorsOfSeed({ seeded: { classname: 'Seeded' } }, 'provider'),
          ],
        };
      },
      usersOf: (account) => Promise.resolve(`cluster <web> uses ${account}`),
    });
  });
  afterAll(() => page.stop());
  const empty = '# ours\ndataFolder: ./data\n';
  beforeEach(async () => {
    await writeFile(file, empty);
    await rm(join(folder, 'data'), { recursive: true, force: true });
  });

  interface Asked {
    readonly method?: string;
    readonly body?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly base?: string;
  }

  /** By node:http, which lets Host and Origin be anything. */
  const ask = (path: string, { method = 'GET', body, headers = {}, base = page.url }: Asked = {}) =>
    new Promise<{
      readonly status: number | undefined;
      readonly text: string;
      readonly headers: Readonly<Record<string, unknown>>;
    }>((resolve, reject) => {
      const sent = request(`${base}${path}`, { method, headers, agent: false }, (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => (text += chunk))
          .on('end', () => resolve({ status: response.statusCode, text, headers: response.headers }))
          .on('error', reject);
      });
      sent.on('error', reject).end(body);
    });
  const send = (
    type: string,
    values: Readonly<Record<string, string>>,
    more: Asked = {},
  ): ReturnType<typeof ask> => post(`add/${type}`, values, more);
  const post = (
    path: string,
    values: Readonly<Record<string, string>>,
    more: Asked = {},
  ): ReturnType<typeof ask> =>
    ask(path, {
      method: 'POST',
      body: new URLSearchParams(values).toString(),
      ...more,
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: new URL(page.url).origin,
        ...more.headers,
      },
    });
  const right = { name: 'try', 'field.endpoint': 'http://127.0.0.1:1', 'field.apiKey': 'hunter22' };

  it('explains that the fields of a plugin without a descriptor are unknown', async () => {
    expect((await ask('add/seeded')).text).toContain('does not declare its fields');
    expect((await ask('add/local')).text).not.toContain('does not declare its fields');
  });

  it('listens on loopback, shows the types of accounts and permits only its own files', async () => {
    expect(page.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
    const { status, text, headers } = await ask('');
    expect(status).toBe(200);
    for (const type of ['aws', 'docker', 'local', 'static'])
      expect(text).toContain(`/add/${type}">${type}</a>`);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
    });
    for (const asset of ['page.css', 'page.js']) expect((await ask(asset)).status).toBe(200);
  });

  it('writes an account as the command line does: secrets to a file, the rest to heddle.yaml', async () => {
    const { status, headers, text } = await send('local', { ...right, site: 'lab' });
    expect(text).toBe('');
    expect(status).toBe(303);
    expect(headers['location']).toBe(`${new URL(page.url).pathname}?added=try`);
    expect(await readFile(join(folder, 'data', 'secrets', 'try', 'apiKey'), 'utf8')).toBe('hunter22\n');
    expect((await stat(join(folder, 'data', 'secrets', 'try', 'apiKey'))).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).toContain(
      '# ours\ndataFolder: ./data\nproviders:\n  try:\n    type: local\n    site: lab\n    fields:\n      endpoint: http://127.0.0.1:1\n      apiKey:\n        secret: file:',
    );
    const list = await ask('?added=try');
    expect(list.text).toContain('Running workers apply this heddle.yaml');
    expect(list.text).not.toContain('hunter22');
    expect((await send('local', right)).text).toMatch(/id="name\.error">already exists/);
  });

  it('shows errors beside the field, keeps what was typed except secrets, and writes nothing', async () => {
    const { status, text } = await send('local', {
      name: 'Bad Name',
      site: '-',
      'field.endpoint': '',
      'field.apiKey': 'hunter22',
    });
    expect(status).toBe(422);
    expect(text).toMatch(/id="name\.error">&quot;Bad Name&quot; is not a valid name/);
    expect(text).toMatch(/id="site\.error">/);
    expect(text).toMatch(/id="field\.endpoint\.error">is missing/);
    expect(text).toContain(
      'name="name" aria-describedby="name.about name.error" aria-invalid="true" required value="Bad Name"',
    );
    expect(text).not.toContain('hunter22');
    expect((await send('static', { name: 'rack', 'field.port': 'high' })).text).toMatch(
      /id="field\.port\.error">should be a number, but is &quot;high&quot;/,
    );
    expect((await send('static', { name: 'rack', 'field.port': '22' })).text).toMatch(
      /role="alert">fields are missing\. The plugin requires machines, or inventory/,
    );
    expect(
      (
        await send('docker', {
          'field.privateKey': '-----BEGIN PRIVATE KEY-----\r\nAAAA',
          'field.user': 'me',
        })
      ).text,
    ).toMatch(/^(?!.*AAAA).*value="me"/s);
    expect(await readFile(file, 'utf8')).toBe(empty);
    expect(await readdir(folder)).not.toContain('data');
  });

  it('escapes texts of plugins and users', async () => {
    const form = await ask('add/nasty');
    const again = await send('nasty', {
      name: hostile,
      site: hostile,
      'field.kind': hostile,
      'field.certificate': hostile,
    });
    const list = await ask(`?added=${encodeURIComponent(hostile)}`);
    for (const { text } of [form, again, list]) {
      expect(text).not.toContain('<script>alert');
      expect(text.match(/<script/g)).toHaveLength(1);
    }
    expect(form.text).toContain('Title &quot;&gt;&lt;script&gt;alert(1)');
    expect(form.text).toContain('it&#39;s');
    expect(form.text).toMatch(/<textarea id="field.certificate"[^>]* class="masked"/);
    expect(again.text).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
    expect(again.status).toBe(422);
    expect((await send('nasty', { name: 'n', 'field.url': hostile })).status).toBe(303);
    expect((await ask('')).text).toContain('<dt>url</dt><dd>&quot;&gt;&lt;script');
  });

  it('answers only requests for its own address and host name', async () => {
    const { origin, host } = new URL(page.url);
    const elsewhere: readonly (readonly [number, Asked])[] = [
      [401, { base: `${origin}/` }],
      [401, { base: `${origin}/${'a'.repeat(32)}/` }],
      [401, { base: page.url.slice(0, -2) }],
      [403, { headers: { Host: `localhost:${new URL(page.url).port}` } }],
      [403, { headers: { Host: 'rebound.example' } }],
      [403, { headers: { Host: host.replace(/:\d+/, '') } }],
      [403, { headers: { Origin: 'http://evil.example' } }],
      [403, { headers: { Origin: 'null' } }],
    ];
    for (const [status, asked] of elsewhere) {
      const { status: got, text } = await ask('', asked);
      expect([asked, got]).toEqual([asked, status]);
      expect(text).not.toContain('<');
      expect((await send('local', right, asked)).status).toBe(status);
    }
    expect((await send('local', right, { headers: { Origin: 'http://127.0.0.1:1' } })).status).toBe(403);
    expect(
      (
        await ask('add/local', {
          method: 'POST',
          body: 'name=x',
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        })
      ).status,
    ).toBe(403);
    expect(await readFile(file, 'utf8')).toBe(empty);
  });

  describe('editing an account', () => {
    const kept = () => readFile(join(folder, 'data', 'secrets', 'try', 'apiKey'), 'utf8');
    const change = (values: Readonly<Record<string, string>>) =>
      post('accounts/try', { 'field.endpoint': 'http://127.0.0.1:1', 'field.apiKey': '', ...values });
    beforeEach(async () => {
      await writeFile(
        file,
        `${empty}providers:\n  try: # mine\n    type: local\n    hardware: {small: s}\n  other: {type: docker}\n`,
      );
      await change({ 'field.apiKey': 'hunter22' });
    });

    it('shows what heddle.yaml says, and no secret', async () => {
      await change({ site: 'lab' });
      const { text } = await ask('accounts/try');
      expect(text).toMatch(/name="field\.endpoint"[^>]* required value="http:\/\/127\.0\.0\.1:1"/);
      expect(text).toMatch(/name="site"[^>]* value="lab"/);
      expect(text).not.toMatch(/id="name"|hunter22|secrets\/try/);
      expect(text).toMatch(/A value is stored but not shown/);
      expect(text).not.toMatch(/name="field\.apiKey"[^>]* required/);
    });

    it('keeps a secret whose field is left empty, and everything that the form does not show', async () => {
      const { status, headers } = await change({ 'field.endpoint': 'http://127.0.0.1:2', site: 'lab' });
      expect([status, headers['location']]).toEqual([303, `${new URL(page.url).pathname}?changed=try`]);
      expect(await kept()).toBe('hunter22\n');
      const text = await readFile(file, 'utf8');
      for (const part of [
        '# ours',
        '# mine',
        'hardware: {small: s}',
        'site: lab',
        'endpoint: http://127.0.0.1:2',
      ])
        expect(text).toContain(part);
      expect((await ask('?changed=try')).text).toContain(`try is changed in ${file}`);
    });

    it('replaces a secret that is typed, and leaves none behind where a reference takes its place', async () => {
      expect((await change({ 'field.apiKey': 'other333' })).status).toBe(303);
      expect(await kept()).toBe('other333\n');
      expect((await change({ 'field.apiKey': 'env:KEY' })).status).toBe(303);
      await expect(kept()).rejects.toThrow('ENOENT');
      expect(await readFile(file, 'utf8')).toContain('secret: env:KEY');
    });

    it('shows errors and what was typed, and changes nothing', async () => {
      const before = await readFile(file, 'utf8');
      const { status, text } = await change({ 'field.endpoint': 'nowhere', 'field.apiKey': 'other333' });
      expect(status).toBe(422);
      expect(text).toMatch(/value="nowhere"/);
      expect(text).toMatch(/id="field\.endpoint\.error">/);
      expect(text).toContain('Type it again: secrets are not sent back');
      expect(text).not.toContain('other333');
      expect([await readFile(file, 'utf8'), await kept()]).toEqual([before, 'hunter22\n']);
    });

    it('removes an optional secret on request', async () => {
      const values = { 'field.cert': 'c', 'field.key': 'k123456' };
      expect((await post('accounts/other', values)).status).toBe(303);
      expect((await ask('accounts/other')).text).toContain('name="remove.key"');
      const without = await post('accounts/other', { 'field.cert': '', 'remove.key': 'on' });
      expect(without.status).toBe(303);
      expect(await readFile(file, 'utf8')).not.toMatch(/cert|key:/);
    });

    it('never shows secrets within lists and mappings, and keeps them', async () => {
      const both = 'CERT\n-----BEGIN PRIVATE KEY-----\nAAAA';
      await writeFile(
        file,
        `${empty}providers: {box: {type: docker, fields: {ca: ${JSON.stringify(both)}}}}\n`,
      );
      for (const path of ['', 'accounts/box']) expect((await ask(path)).text).not.toContain('AAAA');
      const machines = '[{name: r1, address: 192.0.2.1, user: root, password: hunter22}]';
      expect((await send('static', { name: 'rack', 'field.machines': machines })).status).toBe(303);
      expect((await ask('accounts/rack')).text).not.toContain('hunter22');
      expect((await ask('')).text).not.toContain('hunter22');
      expect((await post('accounts/rack', { 'field.port': '2222' })).status).toBe(303);
      const text = await readFile(file, 'utf8');
      expect([text.includes('hunter22'), text.includes('port: 2222')]).toEqual([true, true]);
    });

    it('is possible for accounts that are there, of plugins that are there', async () => {
      for (const path of ['accounts/none', 'accounts/none/remove', 'accounts/__proto__', 'automators/none'])
        expect([path, (await ask(path)).status]).toEqual([path, 404]);
      await writeFile(file, `${empty}providers: {old: {type: gone}}\nautomators: {away: {}}\n`);
      expect((await ask('')).text).toContain('Automator away does not exist');
      expect((await post('automators/away/remove', {})).status).toBe(303);
      expect((await ask('')).text).toContain('Provider plugin gone does not exist.');
      expect((await ask('accounts/old')).status).toBe(404);
      expect((await post('accounts/old/remove', {})).status).toBe(303);
    });

    it('leaves an account that cannot be removed without changing others, and says why', async () => {
      const shared = `${empty}providers: {a: &a {type: docker}, b: *a}\n`;
      await writeFile(file, shared);
      const { status, text } = await post('accounts/a/remove', {});
      expect([status, text]).toEqual([409, expect.stringContaining('heddle.yaml was not changed')]);
      expect(await readFile(file, 'utf8')).toBe(shared);
    });

    it('is refused where another page asks for it', async () => {
      const before = await readFile(file, 'utf8');
      for (const path of ['accounts/try', 'accounts/try/remove', 'accounts/try/test', 'automators/linux'])
        expect((await post(path, {}, { headers: { Origin: 'http://evil.example' } })).status).toBe(403);
      expect(await readFile(file, 'utf8')).toBe(before);
    });

    it('ends with the account removed after a question, together with its secrets', async () => {
      const { text } = await ask('accounts/try/remove');
      expect(text).toContain('Clusters, pools, machines and images that use this account');
      expect(text).toContain('<p id="users">cluster &lt;web&gt; uses try</p>');
      expect(await kept()).toBe('hunter22\n');
      const { status, headers } = await post('accounts/try/remove', {});
      expect([status, headers['location']]).toEqual([303, `${new URL(page.url).pathname}?removed=try`]);
      await expect(kept()).rejects.toThrow('ENOENT');
      expect(await readFile(file, 'utf8')).not.toContain('try');
      expect((await ask('?removed=try')).text).toContain(`try was removed from ${file}`);
    });
  });

  it('writes, changes and removes the settings of automators', async () => {
    expect((await ask('')).text).toMatch(/ansible[^]*not set[^]*automators\/ansible/);
    expect((await ask('automators/ansible')).text).toMatch(/name="field\.program"[^>]* required/);
    const wrong = await post('automators/ansible', { 'field.folder': '/srv' });
    expect([wrong.status, wrong.text.includes('value="/srv"')]).toEqual([422, true]);
    const program = '/usr/bin/ansible-playbook';
    const { status, headers } = await post('automators/ansible', { 'field.program': program });
    expect([status, headers['location']]).toEqual([303, `${new URL(page.url).pathname}?set=ansible`]);
    expect(await readFile(file, 'utf8')).toBe(
      `${empty}automators:\n  ansible:\n    fields:\n      program: ${program}\n`,
    );
    expect((await ask('?set=ansible')).text).toContain('The settings of ansible are in');
    expect((await ask('automators/ansible')).text).toContain(`value="${program}"`);
    expect((await ask('automators/ansible/remove')).text).toContain('Remove the settings of ansible');
    expect((await post('automators/ansible/remove', {})).status).toBe(303);
    expect(await readFile(file, 'utf8')).toBe(`${empty}automators: {}\n`);
  });

  it('tests accounts by the plugin, and shows no secret', async () => {
    const service = await startMachineService();
    try {
      const test = async (key: string, site = '') => {
        await writeFile(file, empty);
        await send('local', { ...right, site, 'field.endpoint': service.endpoint, 'field.apiKey': key });
        return (await post('accounts/try/test', {})).text;
      };
      expect(await test(service.apiKey)).toContain(
        'The provider accepted the account and listed its machines.',
      );
      const refused = await test('wrong-key-777');
      expect(refused).toMatch(/class="failed" role="status">Auth: /);
      expect(refused).not.toContain('wrong-key-777');
      expect(await test('env:NO_SUCH_VARIABLE')).toContain('NO_SUCH_VARIABLE is not set');
      expect(await test(service.apiKey, 'lab')).toContain('Only workers of site lab reach this provider');
    } finally {
      await service.close();
    }
  });

  it('changes nothing by GET, and accepts only forms of limited size', async () => {
    const query = new URLSearchParams(right).toString();
    expect((await ask(`add/local?${query}`)).status).toBe(200);
    expect((await send('local', right, { method: 'PUT' })).status).toBe(405);
    expect((await send('local', right, { headers: { 'Content-Type': 'application/json' } })).status).toBe(
      415,
    );
    expect((await send('local', { name: 'x'.repeat(600_000) })).status).toBe(413);
    expect((await send('nothing', right)).status).toBe(404);
    expect((await ask('etc/passwd')).status).toBe(404);
    expect(await readFile(file, 'utf8')).toBe(empty);
  });

  it('reports an error in heddle.yaml', async () => {
    await writeFile(file, 'providers: 3\n');
    expect(await ask('')).toMatchObject({
      status: 500,
      text: expect.stringContaining('providers: should be a mapping'),
    });
  });
});
