import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { createPlanActivity } from '../../src/activities/plan/plan.js';
import { defaultLimits } from '../../src/model/state.js';
import { loadRegistry } from '../../src/plugins/registry.js';
import { allowReferences } from '../../src/secrets/allowed.js';
import { forbiddenReferences } from '../../src/secrets/reference.js';

describe('references that cluster files may use', () => {
  it.each<readonly [string, readonly string[] | undefined, boolean]>([
    ['exec:cat /etc/shadow', undefined, true],
    ['exec:cat /etc/shadow', [], false],
    ['env:APP_TOKEN', ['env:APP_*'], true],
    ['env:OTHER', ['env:APP_*'], false],
    ['env:APP_A\nfile:/x', ['env:APP_A'], false],
    ['file:/etc/app/token', ['file:/etc/app/*'], true],
    ['file:/etc/app/../shadow', ['file:/etc/app/*'], false],
    ['file:/etc/app//token', ['file:/etc/app/*'], false],
    ['file:/etc/application', ['file:/etc/app/*'], false],
    ['vault:secret/data/app#token', ['vault:secret/data/app#*'], true],
    ['vault:secret/data/app.x', ['vault:secret/data/app?x'], false],
    ['env:a+b', ['env:a+b'], true],
    ['env:aab', ['env:a+b'], false],
  ])('%j with %j: %j', (reference, patterns, allowed) => {
    expect(allowReferences(patterns)(reference)).toBe(allowed);
  });

  it('are found wherever they stand', () => {
    const value = { a: [{ secret: 'env:NO' }, 'env:NO'], b: { c: { secret: 'env:YES' } }, secret: 'env:NO' };
    expect(forbiddenReferences(value, allowReferences(['env:YES']))).toEqual([['a', 0]]);
  });

  it('are refused before anything is made, with their place', async () => {
    const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
    const { PLAN } = createPlanActivity({
      registry, providers: { local: { type: 'local', site: 'here', fields: {} } }, features: { searchAttributes: false }, limits: defaultLimits,
      forbiddenReferences: (value) => forbiddenReferences(value, allowReferences(['env:APP_*'])),
    });
    const script = (secret: string): object => ({ type: 'shell', fields: { script: 'true', environment: { TOKEN: { secret } } } });
    const spec = {
      name: 'web', nodes: { app: { count: 1, provider: 'local', hardware: 'small', image: 'host', services: ['app'] } }, config: { key: { secret: 'file:/etc/shadow' } },
      services: { app: { actions: { install: script('env:APP_TOKEN'), start: script('exec:id') } } },
    };
    const planned = new MockActivityEnvironment().run(PLAN, {
      clusterName: 'web', intent: { kind: 'apply' }, spec, current: { uid: 'u', nodes: {}, services: {}, stopped: [], incarnation: 0, nodenum: 0 },
    } as never);
    await expect(planned).rejects.toThrow(/services\.app\.actions\.start\.fields\.environment\.TOKEN: refers to a secret that cluster files may not use here[^]*config\.key: refers/);
    await expect(planned).rejects.not.toThrow(/actions\.install/);
    await registry.close();
  });
});
