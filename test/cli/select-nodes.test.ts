import { describe, expect, it } from 'vitest';
import { selectNodes } from '../../src/cli/cluster/select-nodes.js';
import type { ClusterStatus } from '../../src/schema/output/status.js';

const status = {
  name: 'web',
  nodes: [
    { nodeId: 'app-1', group: 'app', services: ['api'] },
    { nodeId: 'app-2', group: 'app', services: ['api', 'agent'] },
    { nodeId: 'lb-1', group: 'lb', services: ['agent'] },
  ],
  services: { api: { nodes: [] }, agent: { nodes: [] }, unused: { nodes: [] } },
} as unknown as ClusterStatus;

describe('a selection of nodes', () => {
  it.each([
    [{}, ['app-1', 'app-2', 'lb-1']],
    [{ services: ['agent'] }, ['app-2', 'lb-1']],
    [{ services: ['api', 'agent'], groups: ['lb'] }, ['lb-1']],
    [{ groups: ['app'] }, ['app-1', 'app-2']],
    [{ nodes: ['lb-1', 'app-2'], services: ['api'] }, ['app-2']],
  ])('%j is %j', (selection, nodes) => {
    expect(selectNodes(status, selection)).toEqual(nodes);
  });

  it.each([
    [{ nodes: ['app-9'] }, /^cluster web has no node app-9\. Did you mean "app-1"\?/],
    [{ groups: ['store'] }, /^cluster web has no group store\. Known: app, lb\./],
    [{ services: ['apy'] }, /^cluster web has no service apy\. Did you mean "api"\?/],
    [{ services: ['unused'], groups: ['app'] }, /no node that fits --services unused and --groups app$/],
  ])('%j is refused with the names that exist', (selection, message) => {
    expect(() => selectNodes(status, selection)).toThrow(
      expect.objectContaining({ code: 'NotFound', message: expect.stringMatching(message) }),
    );
  });
});
