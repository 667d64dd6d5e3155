// @ts-check
import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {{ status: number, body: any, token: string }} Answer */

/**
 * Calls a service of OpenStack; behind a fault there may be plain words. On SQLite a service fails when
 * another writes at the same moment: then it is called again.
 * @param {string} method
 * @param {string} url
 * @param {any} [body]
 * @param {string} [token]
 * @returns {Promise<Answer>}
 */
export async function call(method, url, body, token) {
  for (let tries = 1; ; tries += 1) {
    const answer = await callOnce(method, url, body, token);
    if (answer.status !== 500 || tries === 20 || !JSON.stringify(answer.body).includes('OperationalError'))
      return answer;
    await pause(200);
  }
}

/**
 * @param {string} method
 * @param {string} url
 * @param {any} [body]
 * @param {string} [token]
 * @returns {Promise<Answer>}
 */
async function callOnce(method, url, body, token) {
  const response = await fetch(url, {
    method,
    headers: {
      accept: 'application/json',
      'openstack-api-version': 'compute 2.52',
      ...(token ? { 'x-auth-token': token } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: parse(text), token: response.headers.get('x-subject-token') ?? '' };
}

/** @param {string} text */
function parse(text) {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return { text };
  }
}

/** The secret of the application credentials that are made here. */
export const secret = 'application-secret-of-the-tests';

/**
 * Makes what a project needs for machines, as an administrator: a flavor, an image without a system, a
 * network, an application credential. `remove` takes it away again.
 * @param {{ authUrl: string, username: string, password: string, project: string }} admin
 */
export async function prepareProject({ authUrl, username, password, project }) {
  const user = {
    identity: {
      methods: ['password'],
      password: { user: { name: username, password, domain: { name: 'Default' } } },
    },
    scope: { project: { name: project, domain: { name: 'Default' } } },
  };
  const { status, body, token } = await call('POST', `${authUrl}/auth/tokens`, { auth: user });
  if (status !== 201) throw new Error(`Keystone refuses the user: ${JSON.stringify(body)}`);
  const about = body.token;
  /** @param {string} type @returns {string} */
  const endpoint = (type) =>
    about.catalog
      .find((/** @type {any} */ one) => one.type === type)
      .endpoints.find((/** @type {any} */ one) => one.interface === 'public')
      .url.replace(/\/$/, '');
  const services = {
    keystone: authUrl,
    nova: endpoint('compute'),
    glance: `${endpoint('image')}/v2`,
    neutron: `${endpoint('network')}/v2.0`,
  };
  // Just started, Nova does not know its host yet, and finds none for a server.
  for (
    let tries = 0;
    tries < 120 &&
    (await call('GET', `${services.nova}/os-hypervisors`, undefined, token)).body?.hypervisors?.length === 0;
    tries += 1
  )
    await pause(500);
  // A run that was cut leaves them, and their names are unique.
  for (const old of (await call('GET', `${services.nova}/flavors`, undefined, token)).body.flavors)
    if (old.name === 'heddle.small')
      await call('DELETE', `${services.nova}/flavors/${old.id}`, undefined, token);
  for (const old of (await call('GET', `${services.glance}/images?name=heddle-debian`, undefined, token)).body
    .images)
    await call('DELETE', `${services.glance}/images/${old.id}`, undefined, token);
  const name = `heddle-${Date.now()}`;
  const credential = await call(
    'POST',
    `${authUrl}/users/${about.user.id}/application_credentials`,
    { application_credential: { name, secret } },
    token,
  );
  const flavor = await call(
    'POST',
    `${services.nova}/flavors`,
    { flavor: { name: 'heddle.small', ram: 64, vcpus: 1, disk: 1 } },
    token,
  );
  const image = await call(
    'POST',
    `${services.glance}/images`,
    { name: 'heddle-debian', disk_format: 'raw', container_format: 'bare' },
    token,
  );
  await fetch(`${services.glance}/images/${image.body.id}/file`, {
    method: 'PUT',
    headers: { 'x-auth-token': token, 'content-type': 'application/octet-stream' },
    body: 'no system',
  });
  const network = await call(
    'POST',
    `${services.neutron}/networks`,
    { network: { name: 'heddle-net' } },
    token,
  );
  await call(
    'POST',
    `${services.neutron}/subnets`,
    { subnet: { network_id: network.body.network.id, ip_version: 4, cidr: '192.0.2.0/24' } },
    token,
  );
  const made = [
    `${services.neutron}/networks/${network.body.network.id}`,
    `${services.glance}/images/${image.body.id}`,
    `${services.nova}/flavors/${flavor.body.flavor.id}`,
    `${authUrl}/users/${about.user.id}/application_credentials/${credential.body.application_credential.id}`,
  ];
  return {
    services,
    token,
    projectId: about.project.id,
    credentialId: credential.body.application_credential.id,
    flavorId: flavor.body.flavor.id,
    imageId: image.body.id,
    networkId: network.body.network.id,
    async remove() {
      for (const url of made) await call('DELETE', url, undefined, token);
    },
  };
}
