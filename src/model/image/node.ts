import type { AssignedMachine } from '../node/assigned-machine.js';
import type { Placement } from '../node/placement.js';
import { clusterWorkflowId, poolWorkflowId } from '../names.js';
import type { MachineState } from '../machine/state.js';
import { accountOfNode } from './account-of-node.js';
import type { ImageSpec, NodeRef } from './spec.js';

/** A node that an image is captured from, as its owner reports it. */
export interface FoundNode extends AssignedMachine {
  readonly hostname: string;
}

/** A node that a build works on, until it is given back. */
export interface LeasedNode {
  readonly id: string;
  readonly of: NodeRef;
  readonly build: number;
  /** Absent until the lease is known to be granted. */
  readonly machine?: MachineState;
  /** It may have been switched off. */
  readonly disturbed?: true;
}

/** Input of LEASE_NODE. */
export interface LeaseNodeRequest {
  readonly node: NodeRef;
  readonly leaseId: string;
  /** The workflow that is to work on it. */
  readonly to: string;
  /** What is on its disk will be another thing. */
  readonly rewrites?: true;
}

/** Input of FIND_NODE. */
export interface FindNodeRequest {
  readonly node: NodeRef;
}

export function workflowOfNode({ of, name }: NodeRef): string {
  return of === 'cluster' ? clusterWorkflowId(name) : poolWorkflowId(name);
}

/** The image with the node's account, size and base put in where its file leaves them to the node. */
export function withAccountOf(
  spec: ImageSpec,
  placement: Pick<Placement, 'provider' | 'flavor' | 'image' | 'fields'> | undefined,
): ImageSpec {
  const { recipe, validate } = spec;
  if (recipe?.from === undefined || placement === undefined) return spec;
  const { provider, flavor, image, fields } = placement;
  return {
    ...spec,
    recipe: { ...recipe, provider, hardware: flavor, image, fields },
    validate:
      validate === false || validate.provider !== accountOfNode
        ? validate
        : {
            ...validate,
            provider,
            hardware: validate.hardware === accountOfNode ? flavor : validate.hardware,
          },
  };
}
