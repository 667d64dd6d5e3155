import type { Case } from '../case.js';

/** Logins, host keys, scripts and disks of nodes. */
export const nodeCases: readonly Case[] = [
  {
    message: 'cannot reach … (…)',
    of: 'task',
    code: 'Retryable',
    cause:
      'The machine is off, its address is wrong, or a firewall or the network is in the way. What matters is the network ' +
      'of the worker, not that of your machine.',
    remedy: 'Check power and address; the task continues by itself when the node answers.',
    command: 'heddle status NAME --probe',
  },
  {
    message: '… does not answer as an SSH server yet (…)',
    of: 'task',
    code: 'Retryable',
    cause: 'The machine still boots, or another program listens at the port.',
    remedy: 'Wait. If it stays, check the port of the machine and that its image has an SSH server.',
    command: 'heddle logs NAME NODE --action CONFIRM',
  },
  {
    message: 'the connection to … was lost…',
    of: 'task',
    code: 'Retryable',
    cause:
      'The network broke, the node rebooted, or its SSH server was restarted. The script continues on the node.',
    remedy: 'Do nothing: the next attempt attaches to the script, and does not start it again.',
    command: 'heddle status NAME --watch',
  },
  {
    message: '… accepts the login and then does not respond',
    of: 'task',
    code: 'Retryable',
    cause:
      'The login shell hangs in its start files, the disk or memory is exhausted, or the home is on a dead network file system.',
    remedy:
      'Log in by another way, such as the console, and remove the cause. Then retry, or replace the node.',
    command: 'heddle replace NAME NODE',
  },
  {
    message: '… refused the login (…); check the user and the key or password',
    of: 'task',
    code: 'Auth',
    cause:
      'The user does not exist on the image, the public key is not in its authorized_keys, or the account in heddle.yaml ' +
      'names another key.',
    remedy:
      'Correct user and key of the account, then retry. A new machine takes its key only when it is created.',
    command: 'heddle retry NAME',
  },
  {
    message: 'no credential to log in as …: specify a private key, an agent or a password',
    of: 'task',
    code: 'Auth',
    cause:
      'Neither the provider nor the account in heddle.yaml gives a key, an agent or a password for the node.',
    remedy: 'Add keyFile, agent or password to the account, then retry.',
    command: 'heddle retry NAME',
  },
  {
    message: 'the private key for … cannot be read: …',
    of: 'task',
    code: 'Invalid',
    cause: 'The file is not a private key, has a passphrase that is not set, or was cut off.',
    remedy: 'Point keyFile at an unencrypted OpenSSH key that only the user of the worker can read.',
  },
  {
    message:
      '… shows host key …, expected …: possible man in the middle, or an address that now belongs to another machine.',
    of: 'task',
    code: 'Invalid',
    cause:
      'The machine was installed anew outside of Heddle, its address now belongs to another machine, or someone ' +
      'intercepts the connection. Nothing was sent.',
    remedy:
      'Compare the fingerprint at the console of the machine. If the machine is another one, replace the node; for a ' +
      'machine of your own with a genuine new key, correct hostKey in heddle.yaml. Do not remove the check.',
    command: 'heddle replace NAME NODE',
  },
  {
    message: 'no host key is known for …: CONFIRM pins it, or the provider returns it',
    of: 'task',
    code: 'Invalid',
    cause: 'The node was never confirmed, or its record came from an earlier build.',
    remedy: 'Apply the file again: CONFIRM pins the key.',
    command: 'heddle apply FILE',
  },
  {
    message: 'the host key of … is unknown, and a password is sent only to a host with a known key',
    of: 'task',
    code: 'Invalid',
    cause: 'The account logs in with a password, and nothing supplies the host key.',
    remedy:
      'Log in with a private key, give the machine a hostKey, or accept the first key with hostKeys: pin of the account.',
  },
  {
    message: '… offers no algorithm that is accepted here (…)',
    of: 'task',
    code: 'Invalid',
    cause: 'The SSH server is old, and offers only SHA-1, CBC or DSA.',
    remedy: 'Upgrade the SSH server of the image, or give it an ed25519 host key.',
  },
  {
    message:
      'jump host … forwards nothing to … (…); its sshd needs AllowTcpForwarding, and PermitOpen for that address',
    of: 'task',
    code: 'Invalid',
    cause: 'The SSH server of the jump host forbids forwarding to the address of the node.',
    remedy: 'Allow it in the sshd_config of the jump host, reload it, then retry.',
    command: 'heddle retry NAME',
  },
  {
    message: 'jump host … does not reach … (…)',
    of: 'task',
    code: 'Retryable',
    cause: 'The jump host answers; the machine behind it does not.',
    remedy: 'Switch the machine on, or correct its address or the network behind the jump host.',
    command: 'heddle status NAME --probe',
  },
  {
    message: 'sudo -n does not let … become root (…); allow it without a password, or log in as root',
    of: 'task',
    code: 'Auth',
    cause: 'The action has sudo: true, and sudo of the node asks for a password or a terminal.',
    remedy: 'Add a NOPASSWD rule for the login to the image, or set user: root for the account, then retry.',
    command: 'heddle retry NAME',
  },
  {
    message: 'the login shell of … does not run commands (…)',
    of: 'task',
    code: 'Invalid',
    cause: 'The account has a forced command, a restricted shell such as nologin, or start files that exit.',
    remedy: 'Give the account a usual shell, or use another account.',
  },
  {
    message: 'disk full on node …: the script was not started (…); make room and try again',
    of: 'task',
    code: 'Invalid',
    cause: 'The home or /var/tmp of the login has no space or no inodes left. Nothing ran.',
    remedy: 'Make room on the node, then retry. runFolders in heddle.yaml limits what Heddle keeps there.',
    command: 'heddle ssh NAME NODE -- df -h',
  },
  {
    message: '…; a disk is full, according to its output: …',
    of: 'task',
    code: 'ScriptFailed',
    cause:
      'The script wrote "No space left on device" or "Disk quota exceeded": on the node, or on a server that it writes to.',
    remedy: 'Make room, then retry: the script runs again from its beginning.',
    command: 'heddle retry NAME',
  },
  {
    message:
      '… cannot keep the run, so the script was not started: …; ~/.heddle must be a folder that its user can write',
    of: 'task',
    code: 'Invalid',
    cause: 'The home of the login is read-only, belongs to another user, or has a file named .heddle.',
    remedy: 'Correct the home on the node, then retry.',
    command: 'heddle ssh NAME NODE -- ls -la',
  },
  {
    message:
      'run … was started on …, and nothing of it is left there: its outcome is unknown, and it is not started again.',
    of: 'task',
    code: 'UnknownOutcome',
    cause:
      'The script removed its own records, or someone emptied the home, /var/tmp and /dev/shm of the node.',
    remedy: 'Check on the node what it did. A retry runs the script again.',
    command: 'heddle retry NAME',
  },
  {
    message: 'run … does not end on …, even after SIGKILL',
    of: 'task',
    code: 'UnknownOutcome',
    cause: 'A process of the script hangs in the kernel, usually on a disk or a network file system.',
    remedy: 'Reset the machine, then retry.',
    command: 'heddle machine power NAME/NODE reset',
  },
  {
    message: 'died with its machine: the node rebooted while it ran, so its progress is unknown',
    of: 'task',
    code: 'ScriptFailed',
    cause: 'The script or someone else rebooted the node, or it crashed.',
    remedy:
      'Retry runs the script from its beginning. A script that must reboot should be the last of its action.',
    command: 'heddle retry NAME',
  },
  {
    message: 'was killed on the node together with its supervisor (out of memory?), and left no exit code',
    of: 'task',
    code: 'ScriptFailed',
    cause: 'The kernel of the node ran out of memory, or systemd killed all processes of the user at logout.',
    remedy: 'Look at dmesg on the node. Give it more memory, or run loginctl enable-linger for the login.',
    command: 'heddle ssh NAME NODE -- dmesg',
  },
  {
    message: 'ran longer than … s and was ended, with all it had started',
    of: 'task',
    code: 'ScriptFailed',
    cause: 'The timeout of the action is over. A script that waits for input or a lock never ends.',
    remedy: 'Read the end of its output, then raise timeout of the action or correct the script.',
    command: 'heddle logs NAME NODE --service SERVICE',
  },
  {
    message: 'the script ended with exit code …',
    of: 'task',
    code: 'ScriptFailed',
    cause: 'The script decided to fail, or one of its commands did.',
    remedy:
      'Read its whole output. After a change of the script apply the file; after a change of the node retry.',
    command: 'heddle logs NAME NODE --service SERVICE',
  },
  {
    message: "HEDDLE_RESULT line …: … is not key=value with a key of letters, digits, '.', '_' or '-'",
    of: 'task',
    code: 'ScriptFailed',
    cause: 'The script wrote something else into the file $HEDDLE_RESULT, such as the output of a command.',
    remedy: 'Write only lines key=value there, and put other output on standard output.',
    command: 'heddle apply FILE',
  },
  {
    message: 'its action succeeded, but the … did not pass within … s: …',
    of: 'task',
    code: 'ScriptFailed',
    cause: 'The service started and is not healthy: it crashed, listens elsewhere, or needs more time.',
    remedy: 'Read the log of the service on the node. Raise within of the check if it only needs time.',
    command: 'heddle logs NAME NODE --service SERVICE --source service',
  },
  {
    message:
      'login to … is not possible yet: its address, login or host key is unknown until its CONFIRM is done',
    of: 'command',
    code: 'Refused',
    cause: 'The machine is still being created, or it failed before it was confirmed.',
    remedy: 'Wait for CONFIRM of the node.',
    command: 'heddle status NAME --watch',
  },
  {
    message:
      '… holds a secret reference that is neither in the fields of provider … in the heddle.yaml of this computer nor in the inventory that they name, so it is not resolved',
    of: 'command',
    code: 'Refused',
    cause:
      'heddle ssh, cp and logs --source service log in from this machine, which needs the account as the workers have it.',
    remedy:
      'Use the heddle.yaml of the workers with --config, or run the command on a worker host. heddle exec needs neither.',
    command: 'heddle exec NAME -- COMMAND',
  },
  {
    message: 'the login was refused: …',
    of: 'task',
    code: 'Auth',
    cause:
      'Ansible logs in as Heddle does. The key, the user or the start files of the login do not suit it.',
    remedy: 'Try the login yourself with heddle ssh, correct it, then retry.',
    command: 'heddle ssh NAME NODE',
  },
  {
    message:
      'no play of the playbook matches this node: check its `hosts`, which may be all, group_GROUP or service_SERVICE',
    of: 'task',
    code: 'Invalid',
    cause: 'The inventory that Heddle gives to Ansible has only these groups, with - written as _.',
    remedy: 'Correct hosts of the plays, and apply the file.',
    command: 'heddle apply FILE',
  },
  {
    message:
      'automator ansible is not set up on this worker: set automators.ansible.fields.program in heddle.yaml to the absolute path of ansible-playbook',
    of: 'task',
    code: 'Invalid',
    cause: 'Ansible runs on the worker, and is used only if the administrator names the program.',
    remedy: 'Install Ansible on every worker of the site, set the field, then retry.',
    command: 'heddle retry NAME',
  },
];
