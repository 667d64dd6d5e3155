import type { Case } from '../case.js';

/** Connections to the Temporal server, and workers. */
export const serverCases: readonly Case[] = [
  {
    message: "…: no Temporal server answers at …; start one with 'heddle dev', or set TEMPORAL_ADDRESS",
    of: 'command',
    code: 'NoServer',
    cause:
      'The server ended or lost its network while the command waited. If it is your own server, its process or its ' +
      'database may have stopped.',
    remedy:
      'Check the server and the network, then repeat the command: requests that arrived are carried out once.',
    command: 'heddle doctor',
  },
  {
    message: 'the service there is not a Temporal server, or it requires TLS',
    of: 'command',
    code: 'NoServer',
    cause: 'The port belongs to another program, such as the Web UI, or the server accepts only TLS.',
    remedy:
      "Use the port of the server's gRPC frontend, 7233 by default, and set TEMPORAL_TLS=true if it requires TLS.",
    command: 'heddle config show',
  },
  {
    message: 'TLS is configured, but the service there does not support it',
    of: 'command',
    code: 'NoServer',
    cause:
      'TEMPORAL_TLS, an API key or tls in temporal.toml switches TLS on, and the server speaks plain gRPC.',
    remedy: 'Unset them for this server, or switch TLS on at the server.',
    command: 'heddle config show',
  },
  {
    message: 'its certificate is not accepted (…)',
    of: 'command',
    code: 'NoServer',
    cause:
      'The certificate of the server is signed by an authority that this machine does not know, or has another name.',
    remedy:
      'Name the authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH, or the name in TEMPORAL_TLS_SERVER_NAME.',
    command: 'heddle config show',
  },
  {
    message: 'the name … cannot be resolved',
    of: 'command',
    code: 'NoServer',
    cause: 'DNS does not know the host of the address.',
    remedy: 'Correct the address, or the DNS settings of this machine.',
    command: 'heddle config show',
  },
  {
    message: 'no response within … s',
    of: 'command',
    code: 'NoServer',
    cause: 'A firewall drops the packets, or the server is overloaded or starting.',
    remedy: 'Check the route and the firewall to the address, then try again.',
    command: 'heddle doctor',
  },
  {
    message: 'The Temporal server at … rejects the credentials',
    of: 'command',
    code: 'NoServer',
    cause: 'The API key or client certificate is wrong, has expired, or has no access to the namespace.',
    remedy: 'Renew it, and set it in temporal.toml or the TEMPORAL_ variables of every worker and client.',
    command: 'heddle config show',
  },
  {
    message:
      'the Temporal server has no namespace …; specify another one (--namespace, TEMPORAL_NAMESPACE), or create it: …',
    of: 'command',
    code: 'Invalid',
    cause:
      'The server is new or not the one you expect. A new namespace has no clusters and needs keys of its own.',
    remedy: 'Compare the address first. Create the namespace only for a new installation.',
    command: 'heddle config show',
  },
  {
    message: '…: the server does not permit it: …',
    of: 'command',
    code: 'Refused',
    cause: 'The credentials of this client lack a permission on the namespace.',
    remedy: 'Ask the administrator of the server for write access to the namespace.',
  },
  {
    message: 'No Temporal CLI was found to start a server. Checked:',
    of: 'command',
    code: 'Failed',
    cause: 'heddle dev starts the server with the Temporal CLI, which is neither cached nor on PATH.',
    remedy: 'Install the Temporal CLI, set TEMPORAL_CLI to it, or use a server that runs elsewhere.',
  },
  {
    message: 'The Temporal server did not start: its database … is damaged.',
    of: 'command',
    code: 'Failed',
    cause: 'The disk was full or broken, or the file was copied while the server ran.',
    remedy:
      'Restore the database from a backup. Without one, move it away: the new server knows no clusters, and their ' +
      'machines stay at their providers until you delete them there.',
    command: 'heddle leaks',
  },
  {
    message:
      'heddle dev is already running on …: process …, Temporal at …, Web UI at …. Use that one, stop it, or set HEDDLE_DATA_FOLDER to another folder for a second one.',
    of: 'command',
    code: 'Refused',
    cause: 'One data folder has one server. Another terminal or user service runs it.',
    remedy: 'Use the running one: commands with the same data folder find it.',
    command: 'heddle list',
  },
  {
    message: 'the Temporal server ended (…), so everything ends. The end of its log:',
    of: 'command',
    code: 'Failed',
    cause:
      'The server was killed, ran out of memory, or its disk is full. Clusters are in its database and continue later.',
    remedy: 'Make room, then start it again with the same data folder.',
    command: 'heddle dev',
  },
  {
    message: 'this user may not listen at port …: choose a port from 1024, or 0 for a free one',
    of: 'command',
    code: 'Invalid',
    cause: 'Ports below 1024 are reserved for root.',
    remedy: 'Choose another port.',
    command: 'heddle dev --port 0',
  },
  {
    message: 'no worker polls task queue "…" of …',
    of: 'command',
    code: 'NoWorker',
    cause:
      'No worker is connected to this server and namespace. One that ended is still listed for a few minutes.',
    remedy:
      'Start a worker with the keys and the heddle.yaml of this installation, and read its first lines if it ends.',
    command: 'heddle worker',
  },
  {
    message: 'no worker of … has answered in time: those of the last minutes are busy or have ended.',
    of: 'command',
    code: 'NoWorker',
    cause: 'The worker was killed a moment ago, is overloaded, or cannot reach the server.',
    remedy: 'Try again in a minute. If it stays, check the load, the memory and the log of the worker.',
    command: 'heddle doctor',
  },
  {
    message: 'no worker can continue workflow …',
    of: 'command',
    code: 'NoWorker',
    cause:
      'With TMPRL1100, workers have another build than the one that wrote the history. With a key, no worker has it. ' +
      'With anything else, it is a defect of the workflow.',
    remedy:
      'Start a worker of the build that wrote the history, or import the key. If neither is possible, reset the workflow ' +
      'to its last good task: work that was done since is found again.',
    command: 'heddle recover NAME',
  },
  {
    message: 'queue …: no worker polls, so …',
    of: 'command',
    code: 'NoWorker',
    cause:
      'Tasks of the site or account wait there. Its workers ended, or their heddle.yaml has another site or account.',
    remedy: 'Start a worker with site and account as the queue names them: tasks continue at once.',
    command: 'heddle worker',
  },
  {
    message: 'nodes.…: provider … is of site …, and no worker polls its queue ……',
    of: 'command',
    code: 'NoWorker',
    cause: 'Machines of the account are reached from a site where no worker runs.',
    remedy: 'Start a worker there, with that site in its heddle.yaml. Nothing was requested.',
    command: 'heddle worker',
  },
  {
    message: '…: the worker could not answer this; check its version and its log',
    of: 'command',
    code: 'NoWorker',
    cause: 'The worker has an older build than this command, and does not know the question.',
    remedy: 'Upgrade the worker, or use the heddle command of its build.',
    command: 'heddle doctor',
  },
  {
    message: 'the worker cannot be started: …',
    of: 'command',
    code: 'Failed',
    cause:
      'Its configuration, keys, plugins or connection cannot be used. The rest of the message says which.',
    remedy: 'Run the checks with the same heddle.yaml and as the same user.',
    command: 'heddle doctor',
  },
  {
    message: 'The clock of this host is …; workers accept no tasks if the clock differs by more than … s.',
    of: 'command',
    code: 'Failed',
    cause: 'Time synchronisation of the host is off, or the virtual machine was suspended.',
    remedy: 'Synchronise the clock, then restart the worker.',
    command: 'timedatectl',
  },
  {
    message:
      'The Temporal server at … now has another database: namespace … is …, and was … when this worker started.',
    of: 'command',
    code: 'Failed',
    cause: 'The server was set up again or restored, so it knows other clusters than before.',
    remedy:
      'Find out whether that was intended. Restart the worker, then compare the machines with the clusters.',
    command: 'heddle leaks --sweep',
  },
  {
    message: 'was sealed for another workflow of this name, such as an earlier one: send it again.',
    of: 'command',
    code: 'Refused',
    cause:
      'The cluster was deleted and created again while the request was under way, or the clock of this machine is behind.',
    remedy: 'Repeat the command. If it is refused again, synchronise the clock of this machine.',
    command: 'timedatectl',
  },
  {
    message: '…: the connection to the server was closed',
    of: 'command',
    code: 'Failed',
    cause: 'The client was closed while a call was under way, usually because the program is ending.',
    remedy: 'Repeat the command. In your own program, close the client after the last call.',
  },
];
