import type { Explanation } from '../../schema/output/explain.js';

export type DoctorCheck = keyof typeof checkExplanations;

/** The checks of `heddle doctor`. */
export const checkExplanations = {
  Node: {
    title: 'the version of Node.js',
    meaning: 'Whether this Node.js is new enough for Heddle.',
    causes: [
      {
        cause: 'An older Node.js comes first on PATH.',
        remedy: 'Install 20.19 or newer from https://nodejs.org.',
      },
    ],
  },
  configuration: {
    title: 'heddle.yaml and the variables',
    meaning: 'Whether the settings can be read, and which file they come from.',
    causes: [
      {
        cause: 'A setting is wrong, or another user may write the file.',
        remedy: 'Do what the problem says: it names the line and the command.',
        command: 'heddle config show',
      },
    ],
  },
  'data folder': {
    title: 'the folder of keys, logs and state',
    meaning: 'Whether this user owns the folder and may write it, and no other user can read it.',
    causes: [
      {
        cause: 'It belongs to the user that workers run as.',
        remedy: 'Run doctor as that user, with the command that it shows.',
      },
      { cause: 'Its mode is too open.', remedy: 'Set mode 0700 with the chmod that doctor shows.' },
    ],
  },
  store: {
    title: 'the folder of task logs and resources',
    meaning: 'Whether this user owns the folder and may write it, and no other user can read it.',
    causes: [{ cause: 'Its mode is too open.', remedy: 'Set mode 0700 with the chmod that doctor shows.' }],
  },
  logs: {
    title: 'the size of task logs',
    meaning: 'How much of store.logDays, store.logFiles and store.logMb the task logs use.',
    reaction: 'A worker with this store removes the oldest logs at its start and once an hour.',
    causes: [
      {
        cause: 'No worker runs with this store.',
        remedy: 'Start one, or remove old logs yourself.',
        command: 'heddle worker',
      },
    ],
  },
  'run folders': {
    title: 'the limits of run folders on nodes',
    meaning:
      'What scripts may leave on each node. The size is known only there, and doctor does not contact nodes.',
    reaction: 'Nodes remove the oldest folders after runs.',
    causes: [
      {
        cause: 'Disks of nodes fill up.',
        remedy:
          'Lower runFolders in heddle.yaml, and measure the folders with the command that doctor shows.',
        command: "heddle exec NAME -- 'du -sk ~/.heddle/runs'",
      },
    ],
  },
  'object store': {
    title: 'the bucket of task logs',
    meaning: 'Whether this machine can list the bucket with the credentials in heddle.yaml.',
    reaction: 'If workers cannot write there, they keep logs in their own store and try again.',
    causes: [
      {
        cause: 'The endpoint, bucket or credentials are wrong.',
        remedy: 'Correct store.s3 in heddle.yaml.',
        command: 'heddle config show',
      },
    ],
  },
  disk: {
    title: 'free space at the data folder',
    meaning: 'Warns below 1 GiB and fails below 100 MiB, which is too little for the database and logs.',
    causes: [
      {
        cause: 'Logs fill the disk.',
        remedy: 'Lower store.logMb or store.logDays; a worker removes the oldest within an hour.',
      },
      {
        cause: 'Other data fills the disk.',
        remedy: 'Make room. Do not remove keys or the database of the server.',
      },
    ],
  },
  keys: {
    title: 'the encryption keys',
    meaning: 'Whether this machine has keys, and which one encrypts.',
    causes: [
      {
        cause: 'This machine never got the keys of the installation.',
        remedy: 'Export them on the machine of a worker, and import them here.',
        command: 'heddle keys import FILE',
      },
      {
        cause: 'Other users can read the keys.',
        remedy: 'Run the chmod that the message shows, and consider rotating the keys.',
        command: 'heddle keys rotate',
      },
    ],
  },
  plugins: {
    title: 'the plugins on this machine',
    meaning: 'Whether all plugins can be loaded.',
    causes: [
      {
        cause: 'A descriptor is wrong, a name is used twice, or another user may write a plugin folder.',
        remedy: 'Correct the descriptor or the permissions that the problem names.',
        command: 'heddle plugins',
      },
    ],
  },
  accounts: {
    title: 'the provider accounts and automators in heddle.yaml',
    meaning: 'Whether a worker would accept their fields, and the files that they name.',
    causes: [
      {
        cause: 'A field is missing, unknown or has a wrong value.',
        remedy: 'Correct the line that the problem names.',
        command: 'heddle plugins show PLUGIN',
      },
    ],
  },
  programs: {
    title: 'the programs that accounts and automators need',
    meaning: 'Whether programs such as virsh, ipmitool or ansible-playbook are on PATH of this machine.',
    causes: [
      {
        cause: 'A program is not installed.',
        remedy: 'Install it on every worker of the site.',
        command: 'heddle plugins',
      },
    ],
  },
  libcloud: {
    title: 'Apache Libcloud of an account',
    meaning: 'Whether the Python environment of the account can load Apache Libcloud.',
    causes: [
      {
        cause: 'The packages are not installed.',
        remedy: 'Install them into a Python environment of Heddle.',
        command: 'heddle plugins setup libcloud',
      },
    ],
  },
  machines: {
    title: 'the machine service of a local account',
    meaning: 'Whether the machine service answers.',
    causes: [
      {
        cause: 'heddle dev, which runs it, has ended.',
        remedy: 'Start it again with the same data folder: the machines are still there.',
        command: 'heddle dev',
      },
    ],
  },
  server: {
    title: 'the Temporal server',
    meaning: 'Whether it answers, its version, and where its address comes from.',
    causes: [
      { cause: 'It is not running.', remedy: 'Start it.', command: 'heddle dev' },
      {
        cause: 'The address, TLS setting or API key is wrong.',
        remedy: 'Correct the setting at its source.',
        command: 'heddle config show',
      },
      {
        cause: 'Its version has a known vulnerability or cannot be compared.',
        remedy: 'Upgrade the server.',
      },
    ],
  },
  namespace: {
    title: 'the namespace on the server',
    meaning: 'Whether it exists, its id, and how long it keeps histories of ended workflows.',
    causes: [
      {
        cause: 'It was never created, or its name is misspelt.',
        remedy: 'Correct the name, or create it with the command that doctor shows.',
        command: 'heddle config show',
      },
    ],
  },
  clock: {
    title: "this host's clock against the server's",
    meaning: 'Messages and locks carry times, so clocks must agree within some seconds.',
    reaction: 'Workers of a host whose clock is too far off accept no tasks.',
    causes: [
      {
        cause: 'Time synchronisation is off.',
        remedy: 'Switch it on, and restart the workers of the host if the check failed.',
        command: 'timedatectl',
      },
    ],
  },
  'search attributes': {
    title: 'the search attributes on the server',
    meaning: 'Without them, lists show no phases and labels cannot be searched.',
    causes: [
      {
        cause: 'They were not registered, or the server does not permit it to this user.',
        remedy: 'Register them; if that is refused, give its command to an administrator of the server.',
        command: 'heddle server setup',
      },
    ],
  },
  encryption: {
    title: 'the data of running workflows',
    meaning: 'Whether it is encrypted, and with keys that this machine has.',
    causes: [
      {
        cause: 'Workflows use a key that is not here.',
        remedy: 'Import it. Until then, commands about these workflows fail.',
        command: 'heddle keys import FILE',
      },
      {
        cause: 'A client without Heddle wrote plaintext.',
        remedy: 'Find the client, and give it the plugin and the keys.',
      },
    ],
  },
  workers: {
    title: 'who polls each queue',
    meaning: 'One line for each queue: of workflows, of each site, and of each provider account.',
    causes: [
      {
        cause: 'No worker polls the queue, so its tasks wait.',
        remedy: 'Start a worker whose heddle.yaml has the site and the account.',
        command: 'heddle worker',
      },
      {
        cause: 'The account was renamed or moved to another site.',
        remedy: 'Give the workers of that site the same heddle.yaml.',
      },
    ],
  },
  'loaded plugins': {
    title: 'the plugins that workers run',
    meaning: 'Whether the workers of this machine run the plugins that are on its disk.',
    causes: [
      {
        cause: 'The files changed after the worker started.',
        remedy: 'Restart the worker: running scripts continue.',
      },
    ],
  },
  builds: {
    title: 'the builds of workers',
    meaning: "Only workers of one build are sure to continue each other's workflows.",
    causes: [
      {
        cause: 'An upgrade is under way, or stopped half-way.',
        remedy: 'Check that the new build can continue all workflows, then upgrade the other workers.',
        command: 'heddle replay --all-running',
      },
    ],
  },
  configurations: {
    title: 'the configurations of workers',
    meaning: 'Any worker may plan, so all need the same accounts, automators and settings.',
    causes: [
      {
        cause: 'heddle.yaml was changed on some hosts only.',
        remedy: 'Give all workers the same file.',
        command: 'heddle config show',
      },
    ],
  },
  'changed settings': {
    title: 'changes of heddle.yaml that workers did not apply',
    meaning:
      'Workers apply most changes while they run. Some need a restart, and an invalid file is not applied.',
    reaction: 'The worker keeps its previous configuration.',
    causes: [
      {
        cause: 'The changed file is invalid.',
        remedy: 'Correct it; the worker reads it again.',
        command: 'heddle config show',
      },
      { cause: 'The setting needs a restart.', remedy: 'Restart the worker that the check names.' },
    ],
  },
  workflows: {
    title: 'workflows that no worker can continue',
    meaning:
      'The tasks of a workflow fail again and again, so it makes no progress. Others are not affected.',
    reaction: 'The server repeats the task until a worker can carry it out. Nothing is lost.',
    causes: [
      {
        cause:
          'Workers of another build continued it in a way that the present ones do not repeat (TMPRL1100).',
        remedy:
          'Start a worker of the build that wrote the history, or reset the workflow to its last good task.',
        command: 'heddle recover NAME',
      },
      {
        cause: 'No worker has its key.',
        remedy: 'Import the key where a worker runs.',
        command: 'heddle keys import FILE',
      },
    ],
  },
  clusters: {
    title: 'clusters that wait for you',
    meaning: 'Clusters that are held or whose last operation failed.',
    causes: [
      {
        cause: 'A task failed, and the operation waits for a decision. Its machines keep running.',
        remedy: 'Look at the status, which names the next command.',
        command: 'heddle status NAME',
      },
    ],
  },
  sweep: {
    title: 'the search for orphaned machines',
    meaning: 'Whether it runs, can list all accounts, and what it found.',
    reaction:
      'Deletes orphaned machines only with sweep.delete: true in heddle.yaml, and never while something is unclear.',
    causes: [
      {
        cause: 'It found orphaned machines.',
        remedy: 'Look at each one, and delete by name what is not needed.',
        command: 'heddle leaks',
      },
      {
        cause: 'An account could not be listed, or the database was restored from a backup.',
        remedy: 'Remove the reason that the report names; after a restore, resume it after checking.',
        command: 'heddle leaks --resume',
      },
      {
        cause: 'Its schedule is paused or missing.',
        remedy:
          'Resume it with the command that doctor shows; a worker creates a missing one within a minute.',
        command: 'heddle worker',
      },
    ],
  },
} satisfies Readonly<Record<string, Explanation>>;
