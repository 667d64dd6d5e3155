import type { Case } from '../case.js';

/** Encryption keys, payloads and secrets. */
export const keyCases: readonly Case[] = [
  {
    message:
      "… does not exist. Import the keys in use with 'heddle keys import', or create the first key of a new server with 'heddle keys create'.",
    of: 'command',
    code: 'Encryption',
    cause: 'This user or data folder has no keys. Commands run with sudo use the data folder of root.',
    remedy: 'Import the keys of a worker. Create keys only if Heddle has never run on this server.',
    command: 'heddle keys import FILE',
  },
  {
    message: '… contains no keys, but payloads on this Temporal server are encrypted.',
    of: 'command',
    code: 'Encryption',
    cause: 'The installation has keys, and this machine never got them.',
    remedy:
      'Run heddle keys export FILE on the machine of a worker, copy the file safely, and import it here.',
    command: 'heddle keys import FILE',
  },
  {
    message: 'Temporal namespace … uses key …, which is not in ….',
    of: 'command',
    code: 'Encryption',
    cause:
      'Another machine created or rotated the key. If no machine has it any more, its data is lost: a backup of the ' +
      'key folder is the only way back.',
    remedy:
      'Export the keys on a machine that has it, and import them here. Do not create new keys on the same server.',
    command: 'heddle keys import FILE',
  },
  {
    message: 'Payload key … is not in …. Copy it from a machine that has it',
    of: 'command',
    code: 'Encryption',
    cause: 'The data was written with a key that another machine created, or that was removed here.',
    remedy: 'Import the key. Tasks that wait for it then continue by themselves.',
    command: 'heddle keys import FILE',
  },
  {
    message: 'Payload key … is not in … of the worker on ….',
    of: 'command',
    code: 'Encryption',
    cause:
      'This client encrypts with a key that the workers do not have, usually because it created keys of its own.',
    remedy: 'Import the keys of the workers here, and encrypt with theirs.',
    command: 'heddle keys rotate --to KEY',
  },
  {
    message: "A payload with key … does not decrypt for namespace '…'",
    of: 'command',
    code: 'Encryption',
    cause:
      'The data belongs to another namespace or was altered, or the database was copied to another namespace.',
    remedy: 'Select the namespace in which it was written.',
    command: 'heddle config show',
  },
  {
    message: 'A payload is not encrypted, but Heddle accepts only encrypted payloads here.',
    of: 'command',
    code: 'Encryption',
    cause: 'The temporal CLI, the Web UI or a program without the Heddle plugin sent the message.',
    remedy: 'Pass --codec-endpoint to the temporal CLI, set the codec server in the Web UI, or use heddle.',
  },
  {
    message: 'A payload was refused: it was not written for ….…',
    of: 'command',
    code: 'Encryption',
    cause:
      'A recorded payload was copied to another workflow, or a schedule starts the workflow and is not named to the plugin.',
    remedy:
      'Send the message anew. For a schedule, add its workflow id to scheduledWorkflowIds of the plugin.',
  },
  {
    message: 'nothing was sent: the start of a … is invalid: …',
    of: 'command',
    code: 'Invalid',
    cause: 'The program starts the workflow with arguments that no version of it accepts.',
    remedy: 'Use the methods of HeddleClient, which build the arguments, in the version of the workers.',
  },
  {
    message: 'nothing was sent: …',
    of: 'command',
    code: 'Encryption',
    cause:
      'The check before sending found that the receiver could not read the message with the keys of this machine.',
    remedy: 'Import the keys that the message names, then repeat the command.',
    command: 'heddle keys import FILE',
  },
  {
    message: 'no key was created: …',
    of: 'command',
    code: 'Refused',
    cause:
      'Something on this server already uses a key. A second one would make two groups of machines that cannot read each other.',
    remedy: 'Import the existing key, or select the server and namespace of the new installation.',
    command: 'heddle keys import FILE',
  },
  {
    message: 'key … was not removed: no server responds, so it is unknown whether anything needs it',
    of: 'command',
    code: 'NoServer',
    cause: 'Only the server knows which workflows need the key, and it does not answer.',
    remedy: 'Start the server or correct its address, then repeat the command.',
    command: 'heddle doctor',
  },
  {
    message: 'key … was not removed: …',
    of: 'command',
    code: 'Refused',
    cause: 'A workflow, a schedule, a worker or a closed run that the server still keeps needs the key.',
    remedy: 'Rotate, wait until what the message names has ended, and try again.',
    command: 'heddle keys list',
  },
  {
    message: 'other users could read the keys: …. Consider rotating the keys',
    of: 'command',
    code: 'Invalid',
    cause: 'The folder or file was copied or restored with other permissions.',
    remedy: 'Run the chmod of the message. If others could have read the keys, rotate them.',
    command: 'heddle keys rotate',
  },
  {
    message: '…: key … differs from the existing key with the same ID. Nothing was imported.',
    of: 'command',
    code: 'Invalid',
    cause: 'Two installations made keys independently, or the file was altered.',
    remedy: 'Keep the keys of each installation in a data folder of its own.',
  },
  {
    message: '… has been held by process … for more than … s. Wait for the process or end it, and try again.',
    of: 'command',
    code: 'Encryption',
    cause: 'Another command changes the keys, or was suspended while it did.',
    remedy: 'Look at the process, and end it if it hangs: the keys are replaced as a whole or not at all.',
    command: 'ps -fp PID',
  },
  {
    message: '…: the secret (…:) cannot be read: …',
    of: 'task',
    code: 'Auth',
    cause:
      'The reference is resolved where it is used: on the worker, with the environment and the user of the worker, not ' +
      'with yours.',
    remedy:
      'Provide the variable, file or Vault access there, then retry. A changed environment needs a restart of the worker.',
    command: 'heddle retry NAME',
  },
  {
    message: 'the environment variable … is not set for this worker',
    of: 'task',
    code: 'Auth',
    cause: 'The variable is set in your shell, not in the service that runs the worker.',
    remedy: 'Set it in the unit or container of the worker, and restart the worker.',
  },
  {
    message: 'Vault returned 403 for …: the token has no permission, or has expired',
    of: 'task',
    code: 'Auth',
    cause: 'VAULT_TOKEN of the worker has expired, or its policy does not allow reading this path.',
    remedy: 'Renew the token in the environment of the worker, restart the worker, then retry.',
    command: 'heddle retry NAME',
  },
  {
    message:
      '… refers to a secret that cluster files may not use; secrets.allow in heddle.yaml of the worker lists the allowed references',
    of: 'task',
    code: 'Auth',
    cause: 'The administrator limits which secrets cluster files may read.',
    remedy: 'Use an allowed reference, or ask the administrator to add this one to secrets.allow.',
  },
];
