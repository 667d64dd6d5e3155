// @ts-check
/* eslint-disable no-console */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { call, prepareProject, secret } from './project.mjs';

/**
 * Records what a real OpenStack answers, for the tests: makes what a project needs, goes through a machine's
 * life, and takes all of it away again. Needs an administrator, for the flavor and the quota.
 *
 *   node test/plugins/providers/openstack/support/record.mjs --auth-url http://127.0.0.1:5100/v3 --username admin --password pw --project admin
 */
const { values } = parseArgs({
  options: {
    'auth-url': { type: 'string' },
    username: { type: 'string' },
    password: { type: 'string' },
    project: { type: 'string' },
    note: { type: 'string', default: '' },
  },
});
const { 'auth-url': authUrl = '', username = '', password = '', project = '', note } = values;

/** @type {Record<string, { status: number, body: any }>} */
const replies = {};

/** @param {string} name @param {Promise<import('./project.mjs').Answer>} answer */
async function keep(name, answer) {
  const { status, body, token } = await answer;
  replies[name] = { status, body };
  console.log(`${name}: ${status}`);
  return { status, body, token };
}

const prepared = await prepareProject({ authUrl, username, password, project });
const {
  services: { nova, glance, neutron },
  token,
  projectId,
  flavorId,
  imageId,
  networkId,
} = prepared;
/** @param {string} given */
const application = (given) => ({
  auth: {
    identity: {
      methods: ['application_credential'],
      application_credential: { id: prepared.credentialId, secret: given },
    },
  },
});
await keep('token refused', call('POST', `${authUrl}/auth/tokens`, application('wrong')));
const app = await keep('token', call('POST', `${authUrl}/auth/tokens`, application(secret)));

await keep('flavors', call('GET', `${nova}/flavors?limit=1000`, undefined, app.token));
await keep(
  'images',
  call(
    'GET',
    `${glance}/images?status=active&name=${encodeURIComponent('in:"heddle-debian"')}`,
    undefined,
    app.token,
  ),
);
await keep(
  'images none',
  call(
    'GET',
    `${glance}/images?status=active&name=${encodeURIComponent('in:"no-such-image"')}`,
    undefined,
    app.token,
  ),
);
await keep('token unknown to nova', call('GET', `${nova}/servers/detail`, undefined, 'no-such-token'));
const request = {
  name: 'web-app-1',
  flavorRef: flavorId,
  imageRef: imageId,
  networks: [{ uuid: networkId }],
  tags: ['heddle-key=abc'],
  metadata: { 'heddle-key': 'uid/app-1/1' },
};
/** @param {object} more */
const create = (more) => call('POST', `${nova}/servers`, { server: { ...request, ...more } }, app.token);
await keep('create refused for its image', create({ imageRef: '00000000-0000-0000-0000-000000000000' }));
await keep('create refused for its flavor', create({ flavorRef: 'no-such-flavor' }));
await keep('create refused for its tag', create({ tags: ['a/b'] }));
await keep('create refused for its zone', create({ availability_zone: 'nowhere' }));
await keep('create refused for its key pair', create({ key_name: 'nobodys' }));
const quota = `${nova}/os-quota-sets/${projectId}`;
await call('PUT', quota, { quota_set: { instances: 0, force: true } }, token);
await keep('create refused for the quota', create({}));
await call('PUT', quota, { quota_set: { instances: 100, force: true } }, token);
const made = await keep('create', create({}));
const { id } = made.body.server;
await keep('server building', call('GET', `${nova}/servers/${id}`, undefined, app.token));
for (let tries = 0; tries < 100; tries += 1) {
  const { status } = (await call('GET', `${nova}/servers/${id}`, undefined, app.token)).body.server;
  if (status !== 'BUILD') break;
  await pause(300);
}
await keep('server', call('GET', `${nova}/servers/${id}`, undefined, app.token));
if (replies['server']?.body?.server?.status !== 'ACTIVE')
  throw new Error(`the server is not there: ${JSON.stringify(replies['server']?.body?.server?.fault ?? {})}`);
await keep('interfaces', call('GET', `${nova}/servers/${id}/os-interface`, undefined, app.token));
await keep(
  'list',
  call(
    'GET',
    `${nova}/servers/detail?tags=${encodeURIComponent('heddle-key=abc')}&limit=1`,
    undefined,
    app.token,
  ),
);
await keep(
  'list none',
  call(
    'GET',
    `${nova}/servers/detail?tags=${encodeURIComponent('heddle-key=none')}&limit=500`,
    undefined,
    app.token,
  ),
);
await keep('delete', call('DELETE', `${nova}/servers/${id}`, undefined, app.token));
for (let tries = 0; tries < 100; tries += 1) {
  if ((await call('GET', `${nova}/servers/${id}`, undefined, app.token)).status === 404) break;
  await pause(300);
}
await keep('server gone', call('GET', `${nova}/servers/${id}`, undefined, app.token));
await keep('delete of the gone', call('DELETE', `${nova}/servers/${id}`, undefined, app.token));

const versions = await Promise.all(
  [
    [nova.replace(/\/v2\.1.*/, '/'), 'nova'],
    [neutron.replace(/\/v2\.0$/, ''), 'neutron'],
    [authUrl.replace(/\/v3$/, '/'), 'keystone'],
  ].map(async ([url = '', name = '']) => {
    const { body } = await call('GET', url);
    const known = Array.isArray(body.versions) ? body.versions : (body.versions?.values ?? []);
    const newest = known.at(name === 'keystone' ? 0 : -1);
    return [name, `${newest?.id ?? '?'}${newest?.version ? ` up to ${newest.version}` : ''}`];
  }),
);
await prepared.remove();

const file = join(import.meta.dirname, '..', 'recorded', 'replies.json');
const text = JSON.stringify(
  {
    recorded: new Date().toISOString().slice(0, 10),
    by: 'node test/plugins/providers/openstack/support/record.mjs --auth-url … --username … --password … --project …',
    note,
    versions: Object.fromEntries(versions),
    replies,
  },
  null,
  1,
);
writeFileSync(file, `${text}\n`);
console.log(`written to ${file}`);
