import type { EngineKind } from '../../model/node/failure.js';
import type { FailureKind } from '../../plugins/errors.js';
import type { Explanation } from '../../schema/output/explain.js';

export type TaskFailureKind = FailureKind | EngineKind;

/** The kinds of failures of tasks. */
export const failureExplanations: Readonly<Record<TaskFailureKind, Explanation>> = {
  Retryable: {
    title: 'a fault that may pass',
    meaning: 'A connection was lost, a server was overloaded or did not answer, or a lock was taken.',
    reaction:
      'Tries again with growing delays, then holds the operation. A retry of a script only reconnects: it never starts ' +
      'the script a second time.',
    causes: [
      {
        cause: 'The node or the provider does not answer.',
        remedy:
          'Wait if it is short; otherwise see the reason behind the task, and restore the network or the service.',
        command: 'heddle status NAME',
      },
      {
        cause: 'The provider limits the rate of calls.',
        remedy: 'Set limits.ratePerSecond of the account in heddle.yaml to what the provider permits.',
      },
    ],
  },
  NotReady: {
    title: 'not ready yet',
    meaning:
      'No fault: a machine is still booting, a node of a pool is being created, or all permits are in use.',
    reaction:
      'Checks again until the machine is ready. A machine of a node that is not ready within confirmWithin is deleted ' +
      'and created again a few times.',
    causes: [
      {
        cause: 'The machine boots slowly.',
        remedy:
          'Raise confirmWithin of the group in the cluster file, or limits.confirmWithin of the account.',
      },
      {
        cause: 'The image has no SSH server, or a firewall drops connections of the workers.',
        remedy: 'Look at the console of the machine at its provider, and correct the image or the network.',
        command: 'heddle logs NAME NODE --action CONFIRM',
      },
    ],
  },
  Capacity: {
    title: 'the provider has no capacity',
    meaning: 'The provider has no machine of this hardware left in this place. Nothing was created.',
    reaction:
      'Tries the alternatives of the group in turn, then holds the operation. A pool tries its other provider pools.',
    causes: [
      {
        cause: 'The zone or the account has no free machine of this size.',
        remedy: 'Add alternatives to the group, such as another zone or size, and apply the file.',
        command: 'heddle apply FILE',
      },
      {
        cause: 'Machines that are not needed occupy the account.',
        remedy: 'Find orphaned machines, and delete those that are not needed.',
        command: 'heddle leaks --sweep',
      },
    ],
  },
  Quota: {
    title: 'the quota of the account is exhausted',
    meaning: 'The account may not have more machines, cores or memory. Nothing was created.',
    reaction:
      'Tries the alternatives of the group in turn, then holds the operation. A pool requests no machine of the label ' +
      'there until one is deleted, and then asks again.',
    causes: [
      {
        cause: 'The quota is too small for the cluster.',
        remedy: 'Have the quota raised at the provider, then continue.',
        command: 'heddle retry NAME',
      },
      {
        cause: 'Other users or orphaned machines use the quota.',
        remedy: 'Delete what is not needed.',
        command: 'heddle leaks --sweep',
      },
    ],
  },
  Auth: {
    title: 'a login or credential was refused',
    meaning:
      'The provider, the controller or the SSH server of the node refused the credentials, or has none.',
    reaction:
      'Fails the task at once, because a repetition would fail too and controllers lock accounts. A new machine that ' +
      'refuses the login is asked again for a while, because it may still be setting up its users.',
    causes: [
      {
        cause: 'The key, password or token is wrong or has expired.',
        remedy:
          'Correct it in heddle.yaml or where its reference points to, test the account, then continue.',
        command: 'heddle provider test ACCOUNT',
      },
      {
        cause: 'The reference to the secret cannot be read where the worker runs.',
        remedy:
          'Provide the variable or file to the workers, and restart them after a change of their environment.',
      },
      {
        cause: 'The user may not become root.',
        remedy: 'Allow sudo without a password for this user, or log in as root.',
      },
    ],
  },
  Invalid: {
    title: 'the request is wrong, and a retry cannot help',
    meaning: 'A field, an answer of a plugin or the state of a node does not allow the task.',
    reaction: 'Fails the task at once; the operation is held when its other tasks have finished.',
    causes: [
      {
        cause: 'A field of the cluster file or of the account has a wrong value.',
        remedy: 'Correct it, then apply the file, or retry after a change of heddle.yaml.',
        command: 'heddle retry NAME',
      },
      {
        cause: 'The host key of a node changed.',
        remedy: 'Find out why first. If the machine was installed anew, replace the node.',
        command: 'heddle replace NAME NODE',
      },
      {
        cause: 'A plugin returned a result that is not allowed.',
        remedy: 'Correct the plugin; its page of the contract says what it may return.',
        command: 'heddle plugins run PLUGIN FILE',
      },
    ],
  },
  MachineFailed: {
    title: 'the machine was created and failed',
    meaning: 'The machine ended in an error at its provider, never answered, or cannot be used.',
    reaction:
      'Deletes the machine and creates another one a few times, at the alternatives of the group if it has some. In ' +
      'a pool it counts as a launch attempt.',
    causes: [
      {
        cause: 'The image does not boot, or has no SSH server.',
        remedy: 'Look at the console of the machine in the log of the task, and correct the image.',
        command: 'heddle logs NAME NODE --action CONFIRM',
      },
      {
        cause: 'The hardware is broken.',
        remedy: 'Take the machine out of use.',
        command: 'heddle machine quarantine MACHINE --comment TEXT',
      },
    ],
  },
  ImageUnusable: {
    title: 'the image cannot be loaded on any machine',
    meaning:
      'The image is missing or incomplete, or something else is missing that a load needs on any machine. The machine ' +
      'was not changed.',
    reaction:
      'Ends the operation as not done. It does not count towards the quarantine of the machine, because another machine ' +
      'would fail in the same way.',
    causes: [
      {
        cause: 'The image was not built or uploaded, or was deleted.',
        remedy: 'Check its builds and uploads.',
        command: 'heddle image show IMAGE',
      },
      { cause: 'The name or revision is wrong.', remedy: 'List the images.', command: 'heddle image list' },
    ],
  },
  UnknownOutcome: {
    title: 'a change was sent, and it is unknown whether it took effect',
    meaning:
      'The response was lost at a point where repeating the change could do it twice: create a second machine, or run a ' +
      'script again.',
    reaction: 'Repeats nothing. The operation is held until you have looked.',
    causes: [
      {
        cause: 'A CREATE was sent to a provider that cannot be asked for its machine.',
        remedy:
          'Look at the provider for a machine of the name in the message, delete it if it exists, then confirm that it ' +
          'does not exist.',
        command: 'heddle retry NAME',
      },
      {
        cause: 'A script ran on a node that then lost all records of it.',
        remedy: 'Check on the node what the script did. A retry runs it again.',
        command: 'heddle ssh NAME NODE',
      },
      {
        cause: 'The result of a task was not sent by a worker of this installation.',
        remedy: 'Find out who can write to the Temporal server without keys, then continue.',
        command: 'heddle task show NAME TASK',
      },
    ],
  },
  ScriptFailed: {
    title: 'a script on the node failed',
    meaning:
      'A script, playbook or command ended with an exit code that is not accepted, exceeded the timeout of the action, ' +
      'was killed, or wrote a malformed result.',
    reaction:
      'Runs it again only as often as attempts of the action in the cluster file allows, then holds the operation. ' +
      'Other nodes finish their tasks.',
    causes: [
      {
        cause: 'The script has a defect, or the node lacks something that it needs.',
        remedy: 'Read its output, correct the script and apply the file, or correct the node and retry.',
        command: 'heddle logs NAME NODE --service SERVICE',
      },
      {
        cause: 'A download or another service failed for a moment.',
        remedy: 'Continue from what failed. Set attempts and backoff of the action if it happens often.',
        command: 'heddle retry NAME',
      },
      {
        cause: 'The disk of the node is full.',
        remedy: 'Make room on the node, then continue.',
        command: 'heddle exec NAME --nodes NODE -- df -h',
      },
      {
        cause: 'The timeout of the action is too short.',
        remedy: 'Raise timeout of the action, and apply the file.',
        command: 'heddle apply FILE',
      },
    ],
  },
  Timeout: {
    title: 'the task was not done within its time limit',
    meaning: 'All attempts together exceeded the time limit, or no worker was free for the task within it.',
    reaction:
      'Ends the attempt and fails the task. A new machine that is not ready in time is deleted and created again.',
    causes: [
      {
        cause: 'No worker serves the site of the node.',
        remedy: 'Start a worker there.',
        command: 'heddle doctor',
      },
      {
        cause: 'The machine or the provider is too slow.',
        remedy:
          'Raise confirmWithin of the group, or the limits of the account in heddle.yaml, then continue.',
        command: 'heddle retry NAME',
      },
    ],
  },
  MachineLost: {
    title: 'the machine of the node is gone or stopped',
    meaning:
      'The task lost contact with its machine, and the provider says twice that it is deleted, failed or switched off.',
    reaction:
      'Replaces the machine if repair in the cluster file says so, a few times in one operation. Otherwise the ' +
      'operation is held. The machines of a locked cluster are not replaced.',
    causes: [
      {
        cause: 'Someone deleted the machine, or its host failed.',
        remedy: 'Give the node a new machine.',
        command: 'heddle replace NAME NODE',
      },
      {
        cause: 'The machine was switched off.',
        remedy: 'Switch it on, then continue.',
        command: 'heddle machine power NAME/NODE on',
      },
    ],
  },
  PluginChanged: {
    title: 'a plugin changed since the operation was planned',
    meaning: 'The worker has other files of the plugin than the ones that the operation was planned with.',
    reaction: 'Refuses the task, so that one operation uses one version. Deletions are never refused.',
    causes: [
      {
        cause: 'The plugin was upgraded while the operation ran.',
        remedy: 'Give all workers of the site the same version, restart them, then plan the rest again.',
        command: 'heddle retry NAME',
      },
      {
        cause: 'Workers of one site have different versions.',
        remedy: 'Compare the plugins that they run with the files on their disks.',
        command: 'heddle doctor',
      },
    ],
  },
  Internal: {
    title: 'a fault of a plugin or of Heddle',
    meaning: 'The plugin threw an error that is none of the known kinds, crashed, hung or returned nothing.',
    reaction: 'Tries again a few times, then fails the task.',
    causes: [
      {
        cause: 'The plugin has a defect, or lacks a program or library on the worker.',
        remedy: 'Read its log, and run one call of it by hand.',
        command: 'heddle plugins run PLUGIN FILE',
      },
      {
        cause: 'The plugin exceeded its memory or time limit.',
        remedy: 'Raise pluginLimits of the plugin in heddle.yaml.',
      },
    ],
  },
  Cancelled: {
    title: 'the attempt was cancelled',
    meaning: 'The operation was cancelled, or ended in another way, while the task ran.',
    reaction: 'Ends the processes of the task on the node. Completed work stays.',
    causes: [
      {
        cause: 'Someone cancelled the operation.',
        remedy: 'The history names who.',
        command: 'heddle history NAME',
      },
    ],
  },
  WorkerLost: {
    title: 'the worker of the attempt stopped sending heartbeats',
    meaning:
      'The worker was killed, lost the server, or is overloaded. What it started on nodes continues there.',
    reaction:
      'Another worker continues within seconds: it attaches to the running script, and asks the provider for the machine.',
    causes: [
      {
        cause: 'The worker was killed, for example because its host ran out of memory.',
        remedy: 'Check the log of the worker and its supervisor.',
        command: 'heddle doctor',
      },
      { cause: 'The host is overloaded, so that heartbeats are late.', remedy: 'Add workers or processors.' },
    ],
  },
  HandedOver: {
    title: 'another attempt continues the work',
    meaning: 'No fault: the worker is shutting down and left the running work to another worker.',
    reaction: 'The next attempt attaches to what runs.',
    causes: [
      {
        cause: 'A worker was stopped, or restarted for an upgrade.',
        remedy: 'Do nothing if another worker serves the site.',
        command: 'heddle doctor',
      },
    ],
  },
  NotSent: {
    title: 'the request for the machine was not sent',
    meaning: 'CREATE failed before it sent anything, at a provider that cannot be asked for its machines.',
    reaction: 'Requests the machine with another task, within the time limit of CREATE.',
    causes: [
      {
        cause: 'The provider did not accept a connection, or the rate limiter of the account did not answer.',
        remedy: 'Do nothing if the next request succeeds. Otherwise test the account.',
        command: 'heddle provider test ACCOUNT',
      },
    ],
  },
};
