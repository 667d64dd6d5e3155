// @ts-check
// Shows the live view of an operation, from the built product in the folder that is its
// argument, until a key is pressed, then goes on until it is killed.
import { join } from 'node:path';

const [dist = '', fleeting = ''] = process.argv.slice(2);
const { openLiveView } = await import(join(dist, 'cli', 'cluster', 'progress', 'live-view.js'));
const { createOutput } = await import(join(dist, 'cli', 'output.js'));

// The ages that it shows stay the same on a slow machine.
const now = Date.now();
Date.now = () => now;

const since = new Date(now - 3_600_000).toISOString();
const operation = {
  id: '3',
  uid: 'abcdef012345',
  kind: 'apply',
  intent: { kind: 'apply' },
  what: 'exec: systemctl restart the-service-with-a-name',
  state: 'running',
  by: 'me',
  requestedAt: since,
  tasks: { total: 900, done: 412, failed: 2 },
};
const nodes = [1, 2, 3, 4].map((nodenum) => ({
  nodeId: `app-${nodenum}`,
  group: 'app',
  nodenum,
  hostname: `web-app-${nodenum}`,
  incarnation: 1,
  services: ['web'],
  running: [],
  state: 'working',
  current: { action: 'INSTALL', service: 'a-service-with-a-rather-long-name', state: 'running', since },
  payload: {},
}));

process.stdout.write('before\n');
const view = openLiveView(createOutput({}), process.stdout, { fleeting: fleeting === 'fleeting' });
view.show({ name: 'web', nodes, operation }, operation);
view.warn('No worker has responded in time; the work continues when one does.');
process.stdin.setRawMode(true);
process.stdin.once('data', async () => {
  await view.end();
  process.stdout.write('after\n');
});
