import {
  durationMs,
  option,
  waitOptions,
  wholeNumber,
  yesOption,
  command,
  type CommandDefinition,
} from '../command.js';

const parse = durationMs('It is a time such as 30m, 2h or 1d, of at most 30 days.');

const requester = option('--requester <name>', 'all open requests of this one, in place of ids');

export const poolCommands: readonly CommandDefinition[] = [
  command('pool', 'pools of nodes that are kept ready, or made on demand', {
    heading: 'Pools:',
    commands: [
      command('apply <file>', 'bring pools to their file; makes those that are not there', {
        load: async () => (await import('./apply.js')).apply,
      }),
      command(
        'import <file>',
        'make pools of a nodepool.yaml, and tell what has no counterpart; changes nothing',
        {
          options: [
            option('--name <pool>', 'what the pool is called', { fallback: 'nodepool' }),
            option('--account <name>', 'provider account in place of the simulated cloud', {
              fallback: 'local',
            }),
            option(
              '-o, --out <folder>',
              'write pools.yaml and accounts.yaml there; nothing that is there is changed',
            ),
            option('--json', 'write JSON for programs'),
          ],
          needs: 'nothing',
          load: async () => (await import('./import.js')).importFile,
        },
      ),
      command('list', 'the pools', { load: async () => (await import('./show.js')).list }),
      command(
        'labels <pool>',
        'its labels, how many nodes of each there are, and which provider pools serve them',
        { load: async () => (await import('./show.js')).labels },
      ),
      command('nodes <pool>', 'its nodes, with age and state', {
        load: async () => (await import('./nodes.js')).nodes,
      }),
      command('dump [pool]', 'the state of every pool, or of one, as JSON', {
        load: async () => (await import('./show.js')).dump,
      }),
      command('hold <pool> <node>', 'keep a node, to look into it', {
        options: [
          option('-m, --comment <text>', 'why; needed unless the hold is ended'),
          option('--for <time>', "how long: 2h; until it is ended, or the label's limit, unless given", {
            parse,
          }),
          option('--end', 'end the hold: the node is treated as a used one'),
        ],
        load: async () => (await import('./nodes.js')).hold,
      }),
      command(
        'delete <pool> [nodes...]',
        'delete nodes of a pool; without any, the whole pool and all its nodes',
        {
          options: [
            option('--abandon', 'forget the nodes without deleting their machines'),
            yesOption,
            ...waitOptions,
          ],
          load: async () => (await import('./nodes.js')).remove,
        },
      ),
    ],
  }),
  command('request', 'requests for nodes of a pool', {
    commands: [
      command('create <pool> <labels...>', 'ask for a node of each label, and wait for them', {
        options: [
          option('--count <number>', 'so many requests, each for all of the labels', {
            parse: wholeNumber('It is a whole number from 1 to 5000.', 1, 5_000),
          }),
          option('--priority <number>', 'low comes first (default: 100)', {
            parse: wholeNumber('It is a whole number from 0 to 999999.', 0, 999_999),
          }),
          option('--requester <name>', 'who asks (default: user@host)'),
          option('--tenant <name>', 'whose limits hold'),
          option('--provider-pool <name>', 'the one that comes first where it can'),
          option('--lease <time>', 'nodes are taken back after this, unless it is renewed (default: 1h)', {
            parse,
          }),
          ...waitOptions,
        ],
        load: async () => (await import('./request-create.js')).create,
      }),
      command('list <pool>', 'its requests', { load: async () => (await import('./request.js')).list }),
      command('show <pool> <id>', 'one request: its nodes, or why it waits or failed', {
        options: [option('--credentials', 'show what one needs to log in, too')],
        load: async () => (await import('./request.js')).show,
      }),
      command('renew <pool> [ids...]', 'begin leases anew', {
        options: [requester],
        load: async () => (await import('./request.js')).renew,
      }),
      command('cancel <pool> [ids...]', 'end requests, whatever their state', {
        options: [requester],
        load: async () => (await import('./request.js')).cancel,
      }),
      command('return <pool> [ids...]', 'give their nodes back', {
        options: [requester],
        load: async () => (await import('./request.js')).returnVerb,
      }),
    ],
  }),
];
