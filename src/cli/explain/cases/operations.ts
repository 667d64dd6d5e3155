import type { Case } from '../case.js';

/** Operations of clusters, plans, and values of cluster files. */
export const operationCases: readonly Case[] = [
  {
    message: '… of … is held: …',
    of: 'command',
    code: 'Held',
    cause:
      'A task failed, or the plan would remove something that the operation did not list when it started.',
    remedy: 'Read the failures and the commands below them, and decide. What is done is not repeated.',
    command: 'heddle status NAME',
  },
  {
    message:
      'cluster … is busy with operation … (… by …); ask again when it has ended, or wait for it with --queue',
    of: 'command',
    code: 'Refused',
    cause: 'A cluster runs one operation at a time. If it does not end, see what it waits for.',
    remedy: 'Follow it, or repeat your command with --queue.',
    command: 'heddle status NAME --watch',
  },
  {
    message:
      'cluster … holds operation … (…), which failed: retry, replace a node, roll back, scale, apply a corrected file, cancel or delete first',
    of: 'command',
    code: 'Refused',
    cause: 'The held operation comes first, because it left the cluster between two states.',
    remedy: 'Decide about it, for example end it and keep what is done.',
    command: 'heddle cancel NAME',
  },
  {
    message:
      "cluster … holds no failed operation, so there is nothing to retry; run 'heddle apply FILE' to repair its nodes",
    of: 'command',
    code: 'Refused',
    cause: 'The operation has ended, or someone else retried it already.',
    remedy: 'Apply the file: it does exactly what is missing.',
    command: 'heddle apply FILE',
  },
  {
    message: 'cluster … already exists with another spec; apply without --create-only to change it',
    of: 'command',
    code: 'Refused',
    cause: '--create-only protects an existing cluster.',
    remedy: 'Preview what the file would change, then apply without the option.',
    command: 'heddle plan FILE',
  },
  {
    message:
      "… is locked by its file, so neither it nor its machines can be deleted or replaced; to unlock it, remove 'lock: true' from the file and apply the file first",
    of: 'command',
    code: 'Refused',
    cause: 'lock: true protects the disks of the cluster. One apply cannot both unlock and remove.',
    remedy: 'Remove the line, apply the file, then repeat the command.',
    command: 'heddle apply FILE',
  },
  {
    message:
      "node … of cluster … is leased to … since …; ask again when it is released, wait for it with --queue, or run 'heddle … cancel …' to end it",
    of: 'command',
    code: 'Refused',
    cause: 'An image build or a load works on the node.',
    remedy: 'Wait for its end, or cancel it with the command of the message.',
    command: 'heddle status NAME --watch',
  },
  {
    message:
      'the saved plan is not what would be done now: the cluster, its machines, the configuration of the workers or a value has changed since. Plan again',
    of: 'command',
    code: 'Refused',
    cause: 'Something changed between plan and apply. A saved plan is carried out exactly or not at all.',
    remedy: 'Plan again, and compare.',
    command: 'heddle plan FILE --out PLAN',
  },
  {
    message: 'cluster … has changed since this was planned…; plan again',
    of: 'command',
    code: 'Refused',
    cause: 'Another operation ran between your confirmation and the request.',
    remedy: 'Look at the new plan, and confirm that one.',
    command: 'heddle plan FILE',
  },
  {
    message:
      'it would remove the … of …, whose loss was not confirmed: the cluster has changed since the request was planned.',
    of: 'command',
    code: 'Refused',
    cause: 'The operation would lose machines that the plan you confirmed did not name.',
    remedy: 'Plan again, and check the list of what is lost before you confirm.',
    command: 'heddle plan FILE',
  },
  {
    message:
      'it would now remove more than it listed when it started: …. Cancel it; another apply lists what it removes',
    of: 'command',
    code: 'Held',
    cause:
      'While the operation ran, more became superfluous, for example because a group shrank in another apply.',
    remedy: 'Cancel the operation, preview the file, and apply it.',
    command: 'heddle cancel NAME',
  },
  {
    message: 'cluster … has no previous spec to return to; correct its file and apply it, or delete it',
    of: 'command',
    code: 'Refused',
    cause: 'The first apply of the cluster was never completed, so there is nothing to roll back to.',
    remedy: 'Correct the file and apply it, or delete the cluster.',
    command: 'heddle apply FILE',
  },
  {
    message: 'revision … of cluster … is gone: only the last … are kept, … to …',
    of: 'command',
    code: 'NotFound',
    cause: 'Old revisions are dropped.',
    remedy: 'Apply the file of that time from your version control.',
    command: 'heddle apply FILE',
  },
  {
    message:
      '… left machines that this apply has no place for: …. An apply adopts machines of the same node, provider, hardware, image and fields, and deletes none that no plan named.',
    of: 'command',
    code: 'Invalid',
    cause: 'The workflow of an earlier cluster of this name was terminated, and its machines still run.',
    remedy:
      'Apply the previous file, so that they are adopted, and then the new one. Or list them, and delete by name what is ' +
      'not needed.',
    command: 'heddle leaks --sweep',
  },
  {
    message: 'cluster … is being deleted; …',
    of: 'command',
    code: 'Refused',
    cause: 'Deletion takes precedence over everything and cannot be undone.',
    remedy: 'Wait until it is gone, then apply the file again.',
    command: 'heddle status NAME --watch',
  },
  {
    message: '… of cluster … can be abandoned only if the deletion of its machine fails or does not end',
    of: 'command',
    code: 'Refused',
    cause:
      'abandon forgets a machine without deleting it. It is a last resort for machines that cannot be deleted.',
    remedy: 'Replace the node, or delete the cluster first.',
    command: 'heddle replace NAME NODE',
  },
  {
    message: '… names nodes that failed in an earlier operation, which went on without them: ….',
    of: 'command',
    code: 'Invalid',
    cause:
      'onFailure: continue or minimum let an operation end without these nodes, so they have no complete machine.',
    remedy: 'Apply the file, which tries them again.',
    command: 'heddle apply FILE',
  },
  {
    message: 'services wait for each other: …',
    of: 'command',
    code: 'Invalid',
    cause: 'requires under install and runtime form a circle.',
    remedy: 'Use uses in place of requires for one of them: it orders them only where both change.',
    command: 'heddle validate FILE',
  },
  {
    message: 'no worker was free for it within its time limit',
    of: 'task',
    code: 'Timeout',
    cause: 'No worker serves the queue of the task, or all of them were busy for the whole time.',
    remedy: 'Start workers for the site, then retry.',
    command: 'heddle doctor',
  },
  {
    message: 'plugin … …: it has changed since the operation was planned.',
    of: 'task',
    code: 'PluginChanged',
    cause: 'Workers of the site have different files of the plugin, or it was upgraded during the operation.',
    remedy: 'Give all workers the same files, restart them, then retry: the rest is planned again.',
    command: 'heddle retry NAME',
  },
  {
    message: '…: … has no value: …',
    of: 'task',
    code: 'Invalid',
    cause:
      'An expression refers to a value that does not exist at this point: an output of a script that did not write it, ' +
      'or a node that has no machine yet.',
    remedy:
      'Check the name, and that the action that writes the value comes earlier. outputs shows what exists.',
    command: 'heddle output NAME',
  },
  {
    message: 'Set it with --var …=VALUE, --var-file FILE or HEDDLE_VAR_…….',
    of: 'command',
    code: 'Invalid',
    cause: 'A variable of the file has no default, and no value was given.',
    remedy: 'Give the value. In automation, set the HEDDLE_VAR_ variable.',
    command: 'heddle apply FILE --var NAME=VALUE',
  },
  {
    message: '… sets …, but the file declares no such variable',
    of: 'command',
    code: 'Invalid',
    cause: 'The name is misspelt, or the variable was removed from the file.',
    remedy: 'Correct the name, or declare it under variables.',
    command: 'heddle validate FILE',
  },
  {
    message: 'refers to nodes, which is allowed only in fields of actions and in outputs',
    of: 'command',
    code: 'Invalid',
    cause: 'Addresses of nodes are unknown when machines are chosen and the order of tasks is planned.',
    remedy: 'Move the expression into a field of an action, or use a variable.',
    command: 'heddle validate FILE',
  },
  {
    message: 'takes its value from output … of cluster …, which has no value at present: …',
    of: 'command',
    code: 'Invalid',
    cause: 'The other cluster was not applied completely, or its node that the value comes from is missing.',
    remedy: 'Bring the other cluster to its file first.',
    command: 'heddle output CLUSTER',
  },
  {
    message:
      'the plan has … bytes as JSON, and the limit is …; …, or divide the groups among several clusters',
    of: 'command',
    code: 'Invalid',
    cause: 'Plans pass through Temporal, whose messages are limited.',
    remedy: 'Give more groups the same services, or use several clusters.',
    command: 'heddle plan FILE',
  },
  {
    message: 'the spec has … bytes as JSON, including its files; the limit is …',
    of: 'command',
    code: 'Invalid',
    cause: 'Scripts and files of the cluster file are part of its spec.',
    remedy: 'Store large files as resources, and refer to them by name.',
    command: 'heddle resource put NAME PATH',
  },
  {
    message: 'names provider "…", which the workers do not have',
    of: 'command',
    code: 'Invalid',
    cause: 'The account is in your heddle.yaml or in none, not in that of the workers.',
    remedy: 'Add the account to the heddle.yaml of all workers. heddle dev has one for its own machines.',
    command: 'heddle provider list',
  },
  {
    message: 'this worker\'s configuration has no provider "…" (it has: …); add it to heddle.yaml',
    of: 'task',
    code: 'Invalid',
    cause: 'The account was removed or renamed while a cluster uses it, or workers have different files.',
    remedy: 'Put the account back under its old name, then retry. Remove it after its last cluster.',
    command: 'heddle retry NAME',
  },
  {
    message: 'The result was refused. …',
    of: 'task',
    code: 'UnknownOutcome',
    cause: 'The result of the task was not encrypted by a worker of this installation for this call.',
    remedy: 'Find out who completes tasks on the server without keys. Check the node, then retry.',
    command: 'heddle retry NAME',
  },
];
