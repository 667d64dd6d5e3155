import type { Task } from './contract.js';

/** Environment variables that name the task, for programs on the node. */
export function taskEnvironment(task: Task): Record<string, string> {
  const self = task.nodes[task.nodeId];
  // A node being removed is no longer a peer, but its payload still describes it.
  const { ipaddress, hostname, nodenum } = task.config;
  return {
    HEDDLE_CLUSTER: task.clusterId,
    HEDDLE_NODE: task.nodeId,
    HEDDLE_SERVICE: task.service?.name ?? '',
    HEDDLE_ACTION: task.taskName,
    HEDDLE_NODENUM: String(self?.nodenum ?? (typeof nodenum === 'number' ? nodenum : '')),
    HEDDLE_HOSTNAME: self?.hostname ?? (typeof hostname === 'string' ? hostname : ''),
    HEDDLE_IPADDRESS: typeof ipaddress === 'string' ? ipaddress : (self?.ipaddress ?? ''),
  };
}
