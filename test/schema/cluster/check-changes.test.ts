import { expect, it } from 'vitest';
import { parseSpec } from '../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../src/schema/problem.js';

const action = { type: 'shell', fields: { script: 'true' } };
const lb = { actions: { configure: action } };

it.each<[string, object, object, readonly string[]]>([
  [
    'a reload without its action',
    { onConfigChange: 'reload', actions: { configure: action } },
    lb,
    [
      'services.app.onConfigChange: is reload, but the service has no action reload. Add actions.reload, or set onConfigChange: nothing.',
    ],
  ],
  [
    'a restart without a start',
    { onConfigChange: 'restart' },
    lb,
    [
      'services.app.onConfigChange: is restart, but the service has no action start. Add actions.start, or set onConfigChange: nothing.',
    ],
  ],
  [
    'a key that is not there',
    { uses: { config: ['greting'] } },
    lb,
    ['services.app.uses.config[0]: config has no key greting. Did you mean "greeting"?'],
  ],
  [
    'a router that is not there',
    { rolling: { drain: ['bl'] } },
    lb,
    ['services.app.rolling.drain[0]: service bl is not defined. Did you mean "lb"?'],
  ],
  [
    'a service as its own router',
    { rolling: { drain: ['app'] } },
    lb,
    [
      'services.app.rolling.drain[0]: a service cannot route traffic to itself. List the services in front of it.',
    ],
  ],
  [
    'a router without a configure action',
    { rolling: { drain: ['lb'] } },
    {},
    [
      'services.app.rolling.drain[0]: lb has no action configure, which drains nodes. Add services.lb.actions.configure.',
    ],
  ],
  [
    'a router that reads no nodes',
    { rolling: { drain: ['lb'] } },
    { ...lb, peers: 'none' },
    [
      'services.app.rolling.drain[0]: lb reads no nodes (peers: none), so it cannot exclude drained nodes. Set services.lb.peers to dependencies or all.',
    ],
  ],
  [
    'a router that the service needs',
    { rolling: { drain: ['lb'] }, runtime: { requires: ['lb'] } },
    lb,
    [
      'services.app: services have circular dependencies: app -> lb -> app. Remove one of these dependencies.',
    ],
  ],
  [
    'a batch of all nodes that are drained',
    { rolling: { batch: 2, drain: ['lb'] } },
    { ...lb, peers: 'all' },
    [
      'services.app.rolling.batch: is 2, but the service has 2 nodes: no node would get traffic while all are drained. Set it to at most 1, or remove drain.',
    ],
  ],
  ['an empty batch', { rolling: { batch: 0 } }, lb, [expect.stringContaining('services.app.rolling.batch')]],
])('%s is a problem with its place', (_title, app, router, problems) => {
  const reading = parseSpec({
    name: 'web',
    nodes: { all: { count: 2, provider: 'local', services: ['app', 'lb'] } },
    services: { app, lb: router },
    config: { greeting: 'hello' },
  });
  expect((reading.ok ? [] : reading.problems).map(formatProblem)).toEqual(problems);
});
