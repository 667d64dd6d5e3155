import type { Explanation } from '../../schema/output/explain.js';
import type { CliErrorCode } from '../errors.js';

/** The codes of errors of commands. */
export const errorExplanations: Readonly<Record<CliErrorCode, Explanation>> = {
  NoServer: {
    title: 'no Temporal server answers',
    meaning:
      'The command could not connect to the Temporal server. Nothing was sent and nothing was changed. Clusters and ' +
      'their machines are not affected: their services keep running without the server.',
    reaction:
      'The command ends at once. A worker that loses the server keeps trying to reconnect, and operations continue ' +
      'where they were when the server is back.',
    causes: [
      {
        cause: 'No server is running on this machine.',
        remedy: 'Start one, with a worker and machines to try things out.',
        command: 'heddle dev',
      },
      {
        cause: 'The command uses another address than you expect.',
        remedy:
          'Look at temporal.address and where it comes from, then correct TEMPORAL_ADDRESS or temporal.toml.',
        command: 'heddle config show',
      },
      {
        cause: 'A heddle dev runs with another data folder.',
        remedy: 'Set HEDDLE_DATA_FOLDER to the folder that the error names, or pass --address.',
      },
      {
        cause: 'TLS is configured on only one side, or the certificate is not accepted.',
        remedy: 'Set TEMPORAL_TLS=true, or name the authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH.',
      },
    ],
  },
  NoWorker: {
    title: 'no worker answers',
    meaning:
      'The server answers, but no worker took the task in time: none polls, all are busy, or none can continue the ' +
      'workflow because its tasks fail.',
    reaction:
      'Work that was requested before waits on the server and continues as soon as a worker polls. A request that this ' +
      'command sent may still be carried out: look at the status before you repeat it.',
    causes: [
      {
        cause: 'No worker is running, or it lost its connection to the server.',
        remedy: 'Start a worker with the heddle.yaml and the keys of this installation.',
        command: 'heddle worker',
      },
      {
        cause: 'Workers run, but none serves the site of the provider account.',
        remedy: 'Start a worker at that site, with its name as site in heddle.yaml.',
        command: 'heddle doctor',
      },
      {
        cause: 'The tasks of the workflow fail: workers have another build, or lack a key.',
        remedy: 'Read the failure in the output of doctor, and reset the workflow only if it says so.',
        command: 'heddle recover NAME',
      },
      {
        cause: 'The workers are overloaded, or the clock of their host is wrong.',
        remedy: 'Check the load of the host, add workers, and synchronise the clock.',
        command: 'heddle doctor',
      },
    ],
  },
  NotFound: {
    title: 'there is no such object',
    meaning:
      'The cluster, node, pool, machine, image, request, task, log or plugin that you named does not exist.',
    causes: [
      { cause: 'The name is misspelt.', remedy: 'List the existing names.', command: 'heddle list' },
      {
        cause: 'The command talks to another server or namespace than the one that has it.',
        remedy: 'Compare temporal.address and temporal.namespace with those of the worker.',
        command: 'heddle config show',
      },
      {
        cause: 'It was deleted, or its history is older than the retention of the namespace.',
        remedy: 'Apply its file again if you still need it.',
        command: 'heddle apply FILE',
      },
    ],
  },
  Refused: {
    title: 'not possible now',
    meaning:
      'The request is valid, but the present state does not allow it. Nothing was changed. The message says what is in ' +
      'the way and who can remove it.',
    reaction: 'A refused request is not kept. Pass --queue to wait for an operation that is under way.',
    causes: [
      {
        cause: 'Another operation of the cluster is under way.',
        remedy: 'Wait for it, or repeat the command with --queue.',
        command: 'heddle status NAME --watch',
      },
      {
        cause: 'An earlier operation is held.',
        remedy: 'Decide about it first: retry it, correct the file, roll back or cancel it.',
        command: 'heddle status NAME',
      },
      {
        cause: 'The cluster is locked by its file.',
        remedy: 'Remove lock: true from the file and apply it, then repeat the command.',
      },
      {
        cause: 'The machine is reserved, quarantined, in maintenance or busy.',
        remedy: 'Check its state and its reason.',
        command: 'heddle machine show NAME',
      },
      { cause: 'You answered no to the question.', remedy: 'Run the command again if that was a mistake.' },
    ],
  },
  Held: {
    title: 'the operation is held and waits for a decision',
    meaning:
      'A task failed. All tasks that do not depend on it have finished; then the operation stopped. What is done stays ' +
      'done, and nothing is repeated.',
    reaction:
      'Nothing until you decide. Failures that may pass were retried before. onFailure in the cluster file decides ' +
      'without you: continue goes on without the node, rollback returns to the previous spec.',
    causes: [
      {
        cause: 'A script, a login or the provider failed on one or several nodes.',
        remedy: 'Read the failures and their logs, correct the cause, then continue from what failed.',
        command: 'heddle retry NAME',
      },
      {
        cause: 'The cluster file is wrong.',
        remedy: 'Correct the file and apply it: the corrected file replaces the held operation.',
        command: 'heddle apply FILE',
      },
      {
        cause: 'The machine is broken or lost.',
        remedy: 'Give the node another machine; the operation then continues.',
        command: 'heddle replace NAME NODE',
      },
      {
        cause: 'The change was a mistake.',
        remedy: 'Return to the previous spec, or end the operation and keep what is done.',
        command: 'heddle rollback NAME',
      },
    ],
  },
  Failed: {
    title: 'the work was not completed',
    meaning:
      'The operation failed or did not end in time, a command on a node failed, or this command met an unexpected ' +
      'error, such as a disk that is full.',
    causes: [
      {
        cause: 'The operation ended without some nodes.',
        remedy: 'Apply the file again to retry them, or accept the end with --accept-minimum.',
        command: 'heddle status NAME',
      },
      {
        cause: '--timeout passed. The operation continues.',
        remedy: 'Follow it to its end.',
        command: 'heddle status NAME --watch',
      },
      {
        cause: 'The disk of this machine is full, broken or read-only.',
        remedy: 'Make room in the folder that the error names.',
        command: 'heddle doctor',
      },
      {
        cause: 'The error names no cause that you can remove.',
        remedy: 'Check the installation, and report the message if doctor finds no problem.',
        command: 'heddle doctor',
      },
    ],
  },
  Cancelled: {
    title: 'a user cancelled the operation',
    meaning:
      'The operation ended before it was done. Completed work stays. Machines that it created and that were never ' +
      'confirmed are deleted.',
    causes: [
      {
        cause: 'Someone ran heddle cancel, or cancelled the workflow in the Web UI.',
        remedy: 'The history names who; apply the file again to continue.',
        command: 'heddle history NAME',
      },
    ],
  },
  Encryption: {
    title: 'a payload cannot be decrypted or encrypted here',
    meaning:
      'Everything that Heddle stores in Temporal is encrypted. This machine lacks a key that is in use, or met data ' +
      'that was not encrypted for this installation. Nothing was changed.',
    reaction:
      'Workers set a message under an unknown key aside and look for the key again; tasks are retried until ' +
      'some worker has it. Nothing is lost while at least one copy of the key exists.',
    causes: [
      {
        cause: 'The key is on another machine.',
        remedy: 'Export the keys there (heddle keys export FILE), copy the file safely, and import it here.',
        command: 'heddle keys import FILE',
      },
      {
        cause: 'The command talks to the server or namespace of another installation.',
        remedy: 'Select the right server and namespace.',
        command: 'heddle config show',
      },
      {
        cause: 'A caller without keys sent plaintext, as the temporal CLI does without a codec server.',
        remedy: 'Send messages with heddle, or pass --codec-endpoint to the temporal CLI.',
      },
      {
        cause: 'The keys were removed or overwritten.',
        remedy: 'Restore them from a backup. Without the key its data cannot be decrypted.',
        command: 'heddle keys list',
      },
    ],
  },
  Invalid: {
    title: 'the input is wrong',
    meaning:
      'A file, a value or a setting cannot be used. Nothing was changed. For a file, the message names line and column ' +
      'of each problem and what to write instead.',
    causes: [
      {
        cause: 'The cluster file has a problem.',
        remedy: 'Correct the named lines, and check the file without applying it.',
        command: 'heddle validate FILE',
      },
      {
        cause: 'A setting of heddle.yaml, of temporal.toml or of a variable is wrong.',
        remedy: 'Look at the settings and where they come from.',
        command: 'heddle config show',
      },
      {
        cause: 'The workers lack the plugin, provider account or automator that the file names.',
        remedy: 'Add it to the heddle.yaml of the workers and restart them.',
        command: 'heddle plugins',
      },
    ],
  },
  Usage: {
    title: 'the command line is wrong',
    meaning: 'A command, option or argument is unknown, missing or malformed. Nothing was done.',
    causes: [
      {
        cause: 'An option is misspelt, or belongs to another command.',
        remedy: 'Read the help of the command.',
        command: 'heddle COMMAND --help',
      },
      {
        cause: 'The command asks for confirmation, and there is no terminal.',
        remedy: 'Preview it with --plan, then pass --yes.',
      },
    ],
  },
  Interrupted: {
    title: 'you stopped the command',
    meaning:
      'Ctrl-C, a signal, a closed terminal or the end of the reader of the output ended the command. An operation that ' +
      'it had requested continues on the workers: only the watching ended. Signals other than Ctrl-C have exit codes of ' +
      'their own.',
    causes: [
      {
        cause: 'You want to follow the operation again.',
        remedy: 'Watch its status.',
        command: 'heddle status NAME --watch',
      },
      { cause: 'You want to end the operation too.', remedy: 'Cancel it.', command: 'heddle cancel NAME' },
    ],
  },
};
