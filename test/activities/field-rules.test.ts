import { afterAll, beforeAll, expect, test } from 'vitest';
import { planCluster } from '../../src/activities/cluster/plan.js';
import { loadRegistry } from '../../src/plugins/registry.js';
import { configSchema } from '../../src/schema/config.js';
import { type Bench, openBench, request, secret } from '../harness/activities/parts.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';

let bench: Bench;
let node: TestNode;
beforeAll(async () => {
  node = await startNode();
  bench = await openBench(
    'create() { return { result: { providerid: "m" } }; } confirm() {} delete() {}',
    {},
    {
      fields: {
        admin: { token: { title: 'Token', type: 'string', secret: true, pattern: 'hunter2-.*' } },
        user: { how: { title: 'How', type: 'string', pattern: '[a-z]+' } },
      },
    },
  );
});
afterAll(async () => {
  await bench.close();
  await node.close();
});

test('a value of a cluster file that breaks a rule is refused when the cluster is planned, with its place', async () => {
  const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  const plan = (rootVolumeGb: number, exitCode: number) =>
    planCluster(
      {
        registry,
        providers: { box: { type: 'aws', site: 'here', fields: { region: 'eu-1' } } },
        features: { searchAttributes: false },
        settings: configSchema.parse({}),
        forbiddenReferences: () => [],
        outputs: { outputs: async () => undefined, sources: async () => undefined },
      },
      {
        clusterName: 'web',
        intent: { kind: 'apply' },
        spec: {
          name: 'web',
          nodes: {
            app: {
              count: 1,
              provider: 'box',
              hardware: 'any',
              image: 'node',
              services: ['web'],
              fields: { rootVolumeGb },
            },
          },
          services: { web: { actions: { start: { type: 'fake', fields: { exitCode } } } } },
        },
        current: { uid: 'u', nodes: [], services: {}, stopped: [], incarnation: 0, nodenum: 0 },
      } as never,
    );
  await expect(plan(0, 300)).rejects.toThrow(
    /nodes\.app\.fields\.rootVolumeGb: 0 is less than 1[^]*services\.web\.actions\.start\.fields\.exitCode: 300 is more than 255/,
  );
  await expect(plan(1, 255)).resolves.toBeDefined();
  await registry.close();
});

test('a reference whose value breaks a rule is refused before the plugin is called, and is not quoted', async () => {
  expect(await bench.run('CREATE', request({ how: 'x' }))).toMatchObject({ result: { providerid: 'm' } });
  const refused = bench.run('CREATE', request({ how: { secret: 'env:TOKEN' } }));
  await expect(refused).rejects.toMatchObject({
    type: 'Invalid',
    message: expect.stringContaining('how: its value does not match [a-z]+') as string,
  });
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining(secret) as string });
});

test('an expression whose value breaks a rule is refused before the automator is called', async () => {
  const { host, port, user, password = '', hostKey } = node.target;
  const install = (exitCode: number) =>
    bench.run(
      'INSTALL',
      request(
        {},
        {
          taskId: `u/app-1#1/web/INSTALL/${exitCode}`,
          config: {
            hostname: 'web-app-1',
            ipaddress: host,
            'ssh-port': port,
            'ssh-auth': { user, password },
            'ssh-host-key': hostKey,
          },
          variables: { code: { value: exitCode } },
          service: {
            name: 'web',
            action: { type: 'fake', fields: { exitCode: '${{ var.code }}' } },
          } as never,
        },
      ),
    );
  await expect(install(300)).rejects.toMatchObject({
    type: 'Invalid',
    message: expect.stringContaining('services.web.fields.exitCode: its value is more than 255') as string,
  });
  expect(await install(7)).toMatchObject({ result: {} });
});
