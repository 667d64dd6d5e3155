import { it } from 'vitest';
import { clusterWorkflowId, machineWorkflowId } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import { host, openGround } from '../harness/machine/ground.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { inStudio } from '../harness/histories/studio.js';

// As histories.record.ts.
it('records a node whose machine is captured, loaded and reset, and the cluster that leases it out', () =>
  inStudio({}, async ({ stack, keep }) => {
    const ground = openGround(stack);
    const spec = closed({
      name: 'lender',
      nodes: { app: nodes(1, ['shop']) },
      services: { shop: { actions: { install: { type: 'shell', fields: { script: 'true' } } } } },
    });
    const { operation } = await stack.client.apply(spec);
    await stack.client.waitFor('lender', operation, { everyMs: 100 });
    const atRest = (operations: number): Promise<boolean> =>
      until(
        'the cluster is at rest',
        async () => {
          const { lease, operation: now, queued, history } = await stack.client.status('lender');
          return (
            lease === undefined && now === undefined && queued.length === 0 && history.length >= operations
          );
        },
        120_000,
      );
    await ground.operate('lender/app-1', {
      kind: 'capture',
      image: { name: 'lender', revision: '1' },
      prove: true,
    });
    await atRest(2);
    await keep('node-machine-captured', machineWorkflowId('lender/app-1'));
    await ground.operate('lender/app-1', { kind: 'load', image: host, force: true });
    await atRest(3);
    await keep('node-machine-loaded', machineWorkflowId('lender/app-1'));
    await ground.operate('lender/app-1', { kind: 'power', verb: 'reset' });
    await atRest(4);
    await keep('lender', clusterWorkflowId('lender'));
  }));
