import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAccountsPage, type AccountsPage } from '../../../src/cli/account/page/server.js';
import { openWorkspace } from '../../../src/cli/account/workspace.js';
import { until } from '../../harness/until.js';
import { startNode } from '../../harness/ssh-server.js';
import { chromium, openBrowser, type Browser } from '../../harness/account-page/browser.js';
import { newFolder } from '../../harness/folder.js';

describe.skipIf(chromium === undefined)(
  'the page for provider accounts in Chromium (skipped where Chromium is missing: npm run setup:extras installs it)',
  () => {
    let folder: string;
    let file: string;
    let page: AccountsPage;
    let browser: Browser;
    beforeEach(async () => {
      folder = newFolder();
      file = join(folder, 'heddle.yaml');
      await writeFile(file, '# ours\ndataFolder: ./data\n');
      page = await startAccountsPage({
        open: () => openWorkspace({ file }),
        usersOf: () => Promise.resolve('No cluster uses it.'),
      });
      browser = await openBrowser(chromium ?? '', join(folder, 'profile'));
    });
    afterEach(async () => {
      await browser.close();
      await page.stop();
    });

    it('leads from the list through errors beside the fields to an account in heddle.yaml', async () => {
      await browser.open(page.url);
      expect(await browser.see('document.title')).toBe('Heddle: provider accounts');
      await browser.leave(`[...document.links].find(({ textContent }) => textContent === 'local').click()`);
      expect(
        await browser.see(
          `[...document.querySelectorAll('input')].map(({ name, type, required }) => [name, type, required])`,
        ),
      ).toEqual([
        ['name', 'text', true],
        ['site', 'text', false],
        ['field.endpoint', 'text', true],
        ['field.apiKey', 'password', true],
      ]);
      // The browser itself sends no form that is not filled in.
      await browser.see(`document.querySelector('button').click()`);
      expect(
        await browser.see(
          `document.querySelectorAll(':invalid').length > 0 && location.pathname.endsWith('/add/local')`,
        ),
      ).toBe(true);

      await browser.type('name', 'Bad Name');
      await browser.type('field.endpoint', '"><b>x');
      await browser.type('field.apiKey', 'hunter22');
      await browser.leave(`document.querySelector('button').click()`);
      expect(await browser.see(`document.getElementById('name.error').textContent`)).toContain(
        '"Bad Name" is not a valid name',
      );
      expect(await browser.see(`document.activeElement.id`)).toBe('name');
      expect(
        await browser.see(
          `[document.getElementById('field.endpoint').value, document.getElementById('field.apiKey').value, document.querySelectorAll('b').length]`,
        ),
      ).toEqual(['"><b>x', '', 0]);

      await browser.type('name', 'try');
      await browser.type('field.endpoint', 'http://127.0.0.1:1');
      await browser.type('field.apiKey', 'hunter22');
      await browser.leave(`document.querySelector('button').click()`);
      expect(await browser.see(`document.querySelector('[role=status]').textContent`)).toContain(
        'Running workers apply this heddle.yaml',
      );
      expect(await browser.see('document.body.textContent')).not.toContain('hunter22');
      expect(await readFile(file, 'utf8')).toContain('  try:\n    type: local\n');
      expect(await readFile(join(folder, 'data', 'secrets', 'try', 'apiKey'), 'utf8')).toBe('hunter22\n');
    });

    it('requires fields by what is typed into others', async () => {
      await browser.open(page.url);
      await browser.leave(
        `[...document.links].find(({ textContent }) => textContent === 'libcloud').click()`,
      );
      const need = (key: string) =>
        browser.see(
          `[document.getElementById('field.${key}').required, document.getElementById('field.${key}.need').textContent]`,
        );
      const choose = (driver: string) =>
        browser.see(
          `(() => { const select = document.getElementById('field.driver'); select.value = '${driver}'; select.dispatchEvent(new Event('change', { bubbles: true })); })()`,
        );
      expect(await need('endpoint')).toEqual([false, 'endpoint, required when driver is openstack']);
      await choose('openstack');
      expect(await need('endpoint')).toEqual([true, 'endpoint, required, because driver is openstack']);
      expect(await need('secret')).toEqual([true, 'secret, required, because driver is ec2 or openstack']);
      await choose('digitalocean');
      expect(await need('endpoint')).toEqual([false, 'endpoint, required when driver is openstack']);
      expect(await need('secret')).toEqual([false, 'secret, required when driver is ec2 or openstack']);
      expect(await need('region')).toEqual([true, 'region, required, because driver is ec2 or digitalocean']);
    });

    it('edits an account, tests it and removes it', async () => {
      await writeFile(
        file,
        'dataFolder: ./data\nproviders: {try: {type: static, fields: {inventory: x.yaml}}}\n',
      );
      const click = (text: string) =>
        browser.leave(
          `[...document.querySelectorAll('a, button')].find((one) => one.textContent.startsWith('${text}')).click()`,
        );
      const status = () => browser.see(`document.querySelector('[role=status]').textContent`);
      await browser.open(page.url);
      await click('Edit');
      expect(await browser.see(`document.getElementById('field.inventory').value`)).toBe('x.yaml');
      await browser.type('field.port', '70000');
      await click('Save');
      expect(await browser.see(`document.activeElement.id`)).toBe('field.port');
      expect(await browser.see(`document.getElementById('field.port.error').textContent`)).toContain(
        '70000 is more than 65535',
      );
      await browser.type('field.port', '2222');
      await browser.type('field.inventory', join(folder, 'rack.yaml'));
      await click('Save');
      expect(await status()).toContain('try is changed');
      await click('Test');
      expect(await status()).toContain('rack.yaml');
      const node = await startNode();
      const { host: address, port, user, password, hostKey } = node.target;
      const machine = { name: 'r1', address, port, user, password, hostKey };
      await writeFile(join(folder, 'rack.yaml'), JSON.stringify({ machines: [machine] }));
      await click('Test again');
      expect(await status()).toContain('The login to its machine succeeded.');
      await node.close();
      await click('Back');
      await click('Remove');
      await click('Remove try');
      expect(await status()).toContain('try was removed from');
    });

    it('fits into the width of a phone, with long names and addresses', async () => {
      const long = 'a-name-of-a-department-that-is-as-long-as-a-name-can-be-in-here';
      const address = `https://${'department-of-cloud.'.repeat(8)}example.com/${'v3'.repeat(60)}`;
      await writeFile(
        file,
        `dataFolder: ./data\nproviders: {${long}: {type: openstack, fields: {authUrl: "${address}", username: u, password: {secret: 'env:P'}, project: p}}}\n`,
      );
      await browser.resize(360);
      for (const path of [
        '',
        `accounts/${long}`,
        `accounts/${long}/remove`,
        'add/openstack',
        'automators/ansible',
      ]) {
        await browser.open(`${page.url}${path}`);
        const widths = await browser.see(
          '[innerWidth, document.documentElement.scrollWidth - document.documentElement.clientWidth]',
        );
        expect([path, widths]).toEqual([path, [360, 0]]);
      }
    });

    it('makes the browser load and execute only its own files', async () => {
      await browser.open(page.url);
      expect(await browser.see(`getComputedStyle(document.body).maxWidth`)).toBe('704px');
      await browser.see(
        `document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = true' }))`,
      );
      expect(await browser.see('window.ran ?? "not run"')).toBe('not run');
      expect(await browser.see(`fetch(location.href).then(() => 'sent', () => 'refused')`)).toBe('refused');
    });

    it('accepts no form from another page', async () => {
      const other = join(folder, 'other.html');
      await writeFile(
        other,
        `<title>other</title><form method="post" action="${page.url}add/docker"><input name="name" value="evil"></form>`,
      );
      await browser.open(`file://${other}`);
      await browser.leave('document.forms[0].submit()');
      expect(await until('the answer', () => browser.see('document.body.textContent'))).toContain(
        'Requests from other pages are not allowed.',
      );
      expect(await readFile(file, 'utf8')).not.toContain('evil');
    });
  },
);
