// @ts-check
// The administrator's programs for images, over the machine service: imager.mjs CONFIG WHAT MACHINE IMAGE
// TOKEN
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const [file = '', what = '', machine = '', image = '', token = ''] = process.argv.slice(2);
const { endpoint, apiKey, machines } = JSON.parse(readFileSync(file, 'utf8'));

/** @param {string} method @param {string} path @param {object} [body] */
async function call(method, path, body) {
  const response = await fetch(`${endpoint}${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

async function carryOut() {
  if (what === 'exists' || what === 'size') {
    const { status, body } = await call('GET', `/v1/images/${image}`);
    if (what === 'size') process.stdout.write(`${Math.max(1, Math.ceil((body.sizeBytes ?? 0) / 2 ** 20))}\n`);
    return status === 200 ? 0 : status === 404 ? 10 : 2;
  }
  const path = `/v1/machines/${machines[machine]}`;
  const { status, body } = await call('POST', `${path}/${what}`, { image, token });
  if (status >= 300) {
    process.stderr.write(`${JSON.stringify(body)}\n`);
    if (what === 'load' && (await call('GET', `/v1/images/${image}`)).status === 404) return 41;
    return status === 409 || status === 404 ? 10 : 2;
  }
  for (;;) {
    const {
      body: { job },
    } = await call('GET', `${path}/job`);
    if (job?.token !== token || job.state === 'failed') return 2;
    if (job.state === 'done') return 0;
    process.stdout.write(`${what} goes on\n`);
    await pause(100);
  }
}

process.exitCode = await carryOut();
