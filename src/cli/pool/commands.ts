import type { Option } from 'commander';
import { poolNodeStates } from '../../model/pool/node.js';
import { requestStates } from '../../model/pool/request.js';
import {
  argument,
  choice,
  durationMs,
  option,
  waitOptions,
  wholeNumber,
  yesOption,
  command,
  type CommandDefinition,
} from '../command.js';

const parsePriority = wholeNumber('It must be a whole number from 0 to 999999.', 0, 999_999);
const parse = durationMs('It must be a duration such as 30m, 2h or 1d, of at most 30 days.');

const poolsFile = argument('<file>', 'the pools file');

const anyPool = argument('[pool]', 'name of the pool (default: all)');

const requester = option('--requester <name>', 'all open requests of this requester, instead of ids');

const filters = (of: string, states: readonly string[]): readonly Option[] => [
  option('--provider <account>', `only ${of} of this provider account`),
  choice('--state <state>', `only ${of} in this state`, states),
  option('--label <label>', `only ${of} of this label`),
];

const demandOptions = [
  option('--priority <number>', 'lower values are served first (default: 100)', { parse: parsePriority }),
  option('--requester <name>', 'the requester (default: user@host)'),
  option('--tenant <name>', 'the tenant whose limits apply'),
  option('--provider-pool <name>', 'preferred provider pool'),
];

const copyOption = option(
  '--copy <path>',
  'copy a file, or the content of a folder, to the folder that the command runs in',
);

function leaseOption(fallback: string): Option {
  return option(
    '--lease <duration>',
    `lease time; nodes are reclaimed when it ends without renewal (default: ${fallback})`,
    { parse },
  );
}

export const poolCommands: readonly CommandDefinition[] = [
  command('pool', 'pools of nodes that are kept ready or created on demand', {
    heading: 'Pools:',
    page: 'guides/pools.md',
    commands: [
      command('apply', 'create or update the pools of a file', {
        arguments: [poolsFile],
        examples: ['heddle pool apply pools.yaml'],
        json: ['pool-apply'],
        load: async () => (await import('./apply.js')).apply,
      }),
      command('check', 'check a pools file without a server', {
        arguments: [poolsFile],
        examples: ['heddle pool check pools.yaml'],
        more: '; workers check accounts, hardware and images',
        needs: 'configuration',
        json: ['validate'],
        load: async () => (await import('./check.js')).check,
      }),
      command('import', 'convert a nodepool.yaml, and report what has no counterpart; changes nothing', {
        examples: ['heddle pool import nodepool.yaml --name ci -o ci'],
        arguments: [argument('<file>', 'the nodepool.yaml')],
        options: [
          option('--name <name>', 'name of the pool', { fallback: 'nodepool' }),
          option('--account <account>', 'provider account to use instead of the simulated cloud', {
            fallback: 'local',
          }),
          option(
            '-o, --out <folder>',
            'write pools.yaml and accounts.yaml to this folder; existing files are kept',
          ),
          option('--json', 'write JSON for programs'),
        ],
        needs: 'nothing',
        json: ['pool-import'],
        load: async () => (await import('./import.js')).importFile,
      }),
      command(
        'export <pool>',
        'stop a pool, and write its records for a move to another server or namespace',
        {
          examples: ['heddle pool export ci > ci.json'],
          options: [
            option('--cancel', 'resume the pool; only if its records were not restored anywhere'),
            yesOption,
          ],
          json: ['pool-export'],
          load: async () => (await import('./export.js')).exportPool,
        },
      ),
      command('restore', 'start a pool with the records of an exported one', {
        arguments: [argument('<file>', 'a file of pool export')],
        examples: ['heddle pool restore ci.json'],
        json: ['pool-restore'],
        load: async () => (await import('./restore.js')).restore,
      }),
      command('list', 'list the pools', {
        examples: ['heddle pool list'],
        json: ['pools'],
        load: async () => (await import('./show.js')).list,
      }),
      command(
        'labels <pool>',
        'list the labels of a pool, their node counts, and the provider pools that serve them',
        {
          examples: ['heddle pool labels ci'],
          json: ['pool'],
          load: async () => (await import('./show.js')).labels,
        },
      ),
      command('nodes', 'list the nodes of all pools, or of one, with age and state', {
        arguments: [anyPool],
        examples: ['heddle pool nodes ci --state ready'],
        options: filters('nodes', poolNodeStates),
        json: ['pool-nodes'],
        load: async () => (await import('./overview.js')).nodes,
      }),
      command('waiting', 'show which tenants wait for nodes, and for what', {
        arguments: [anyPool],
        examples: ['heddle pool waiting'],
        json: ['pool-waiting'],
        load: async () => (await import('./waiting.js')).waiting,
      }),
      command('failures', 'list what failed in the last day: launches, clean-ups and checks of nodes', {
        arguments: [anyPool],
        examples: ['heddle pool failures ci'],
        json: ['pool-failures'],
        load: async () => (await import('./failures.js')).failures,
      }),
      command('dump', 'print the state of all pools, or of one, as JSON', {
        arguments: [anyPool],
        examples: ['heddle pool dump ci'],
        json: ['pool-dump'],
        load: async () => (await import('./show.js')).dump,
      }),
      command('hold <pool> <node>', 'hold a node for inspection', {
        examples: [
          "heddle pool hold ci small-1 -m 'failing test' --for 2h",
          'heddle pool hold ci small-1 --end',
        ],
        options: [
          option('-m, --comment <text>', 'the reason; required unless --end is given'),
          option('--for <duration>', "how long, such as 2h (default: until --end or the label's limit)", {
            parse,
          }),
          option('--end', 'end the hold; the node is then treated as used'),
        ],
        json: ['pool-change'],
        load: async () => (await import('./nodes.js')).hold,
      }),
      command('delete <pool>', 'delete nodes of a pool; without any, the whole pool and all its nodes', {
        examples: ['heddle pool delete ci small-1'],
        arguments: [argument('[nodes...]', 'names of the nodes (default: the whole pool)')],
        options: [
          option('--abandon', 'forget the nodes without deleting their machines'),
          yesOption,
          ...waitOptions,
        ],
        json: ['pool-change'],
        load: async () => (await import('./nodes.js')).remove,
      }),
      command('erase <account>', 'delete the unused nodes of a provider account in all pools', {
        examples: ['heddle pool erase cloud'],
        options: [
          option('--in-use', 'also nodes that are in use or held'),
          option('--abandon', 'forget the nodes without deleting their machines'),
          yesOption,
        ],
        json: ['pool-change'],
        load: async () => (await import('./erase.js')).erase,
      }),
    ],
  }),
  command('request', 'requests for nodes of a pool', {
    page: 'guides/pools.md',
    commands: [
      command('create <pool> <labels...>', 'request a node of each label, and wait for them', {
        examples: ['heddle request create ci small large --lease 30m'],
        options: [
          option('--count <number>', 'number of requests, each for all of the labels', {
            parse: wholeNumber('It must be a whole number from 1 to 5000.', 1, 5_000),
          }),
          ...demandOptions,
          leaseOption('1h'),
          option(
            '--detach',
            'leave the request in place when this command is interrupted; otherwise it is returned',
          ),
          ...waitOptions,
        ],
        json: ['request'],
        load: async () => (await import('./request-create.js')).create,
      }),
      command('list', 'list the requests of all pools, or of one', {
        arguments: [anyPool],
        examples: ['heddle request list ci'],
        options: filters('requests', [...requestStates, 'returned', 'cancelled', 'expired']),
        json: ['requests'],
        load: async () => (await import('./overview.js')).requests,
      }),
      command('show <pool> <id>', 'show a request: its nodes, or why it waits or failed', {
        examples: ['heddle request show ci ID'],
        options: [option('--credentials', 'also show the login credentials')],
        json: ['request'],
        load: async () => (await import('./request.js')).show,
      }),
      command('priority <pool> <id>', 'change the priority of a waiting request', {
        examples: ['heddle request priority ci ID 10'],
        arguments: [argument('<number>', 'lower values are served first', parsePriority)],
        json: ['request-change'],
        load: async () => (await import('./request.js')).setPriority,
      }),
      command('renew <pool> [ids...]', 'renew the leases of requests', {
        examples: ['heddle request renew ci ID'],
        options: [requester],
        json: ['request-change'],
        load: async () => (await import('./request.js')).renew,
      }),
      command('cancel <pool> [ids...]', 'cancel requests in any state', {
        examples: ['heddle request cancel ci --requester nightly'],
        options: [requester],
        json: ['request-change'],
        load: async () => (await import('./request.js')).cancel,
      }),
      command('run <pool> <command...>', 'run a command on the nodes of a request, which keeps them', {
        examples: ['heddle request run ci --id ID -- make test'],
        options: [
          option('--id <id>', 'the request'),
          option('--requester <name>', 'the only open request of this requester'),
          copyOption,
        ],
        json: ['run'],
        load: async () => (await import('./request-run.js')).runInRequest,
      }),
      command('return <pool> [ids...]', 'return the nodes of requests', {
        examples: ['heddle request return ci ID'],
        options: [requester],
        json: ['request-change'],
        load: async () => (await import('./request.js')).returnNodes,
      }),
    ],
  }),
  command('run <label> <command...>', 'run a command on nodes of a pool, and return them', {
    page: 'guides/pools.md',
    examples: ['heddle run small --copy . -- make test'],
    options: [
      option('--pool <pool>', 'the pool (default: the only one with this label)'),
      option('--count <number>', 'number of nodes (default: 1)', {
        parse: wholeNumber('It must be a whole number from 1 to 100.', 1, 100),
      }),
      copyOption,
      ...demandOptions,
      leaseOption('3m'),
    ],
    json: ['run'],
    load: async () => (await import('./run.js')).run,
  }),
];
