import { InvalidArgumentError, type Command } from 'commander';
import { parseDuration } from '../../schema/duration.js';
import { withCommonOptions, withWait, type Run } from '../options.js';

/** Verbs about pools of nodes, and about requests for nodes. */
export function addPoolVerbs(program: Command, run: Run): void {
  program.commandsGroup('Pools:');
  const verb = (name: string, summary: string): Command =>
    program.command(name).summary(summary).description(summary);
  const server = (command: Command): Command => withCommonOptions(command, 'server');

  const pool = verb('pool', 'pools of nodes that are kept ready, or made on demand');
  server(
    pool.command('apply <file>').description('bring pools to their file; makes those that are not there'),
  ).action((file, options) => run(async () => (await import('./apply.js')).apply(file, options)));
  pool
    .command('import <file>')
    .description('make pools of a nodepool.yaml, and tell what has no counterpart; changes nothing')
    .option('--name <pool>', 'what the pool is called', 'nodepool')
    .option('--account <name>', 'provider account in place of the simulated cloud', 'local')
    .option(
      '-o, --out <folder>',
      'write pools.yaml and accounts.yaml there; nothing that is there is changed',
    )
    .option('--json', 'write JSON for programs')
    .action((file, options) => run(async () => (await import('./import.js')).importFile(file, options)));
  server(pool.command('list').description('the pools')).action((options) =>
    run(async () => (await import('./look.js')).list(options)),
  );
  server(
    pool
      .command('labels <pool>')
      .description('its labels, how many nodes of each there are, and which provider pools serve them'),
  ).action((name, options) => run(async () => (await import('./look.js')).labels(name, options)));
  server(pool.command('nodes <pool>').description('its nodes, with age and state')).action((name, options) =>
    run(async () => (await import('./look.js')).nodes(name, options)),
  );
  server(pool.command('dump [pool]').description('the state of every pool, or of one, as JSON')).action(
    (name, options) => run(async () => (await import('./look.js')).dump(name, options)),
  );
  server(
    pool
      .command('hold <pool> <node>')
      .description('keep a node, to look into it')
      .option('-m, --comment <text>', 'why; needed unless the hold is ended')
      .option(
        '--for <time>',
        "how long: 2h; until it is ended, or the label's limit, unless given",
        parseTime,
      )
      .option('--end', 'end the hold: the node is treated as a used one'),
  ).action((name, node, options) => run(async () => (await import('./change.js')).hold(name, node, options)));
  server(
    withWait(
      pool
        .command('delete <pool> [nodes...]')
        .description('delete nodes of a pool; without any, the whole pool and all its nodes')
        .option('--abandon', 'forget the nodes without deleting their machines')
        .option('-y, --yes', 'do not ask back'),
    ),
  ).action((name, nodes, options) =>
    run(async () => (await import('./change.js')).remove(name, nodes, options)),
  );

  const request = verb('request', 'requests for nodes of a pool');
  server(
    withWait(
      request
        .command('create <pool> <labels...>')
        .description('ask for a node of each label, and wait for them')
        .option('--count <number>', 'so many requests, each for all of the labels', parseCount)
        .option('--priority <number>', 'low comes first (default: 100)', parseNumber)
        .option('--requester <name>', 'who asks (default: user@host)')
        .option('--tenant <name>', 'whose limits hold')
        .option('--provider-pool <name>', 'the one that comes first where it can')
        .option(
          '--lease <time>',
          'nodes are taken back after this, unless it is renewed (default: 1h)',
          parseTime,
        ),
    ),
  ).action((name, labels, options) =>
    run(async () => (await import('./request.js')).create(name, labels, options)),
  );
  server(request.command('list <pool>').description('its requests')).action((name, options) =>
    run(async () => (await import('./request.js')).list(name, options)),
  );
  server(
    request
      .command('show <pool> <id>')
      .description('one request: its nodes, or why it waits or failed')
      .option('--credentials', 'show what one needs to log in, too'),
  ).action((name, id, options) => run(async () => (await import('./request.js')).show(name, id, options)));
  const many = (command: Command): Command =>
    server(command.option('--requester <name>', 'all open requests of this one, in place of ids'));
  many(request.command('renew <pool> [ids...]').description('begin leases anew')).action(
    (name, ids, options) => run(async () => (await import('./request-end.js')).renew(name, ids, options)),
  );
  for (const [how, what] of [
    ['cancel', 'end requests, whatever their state'],
    ['return', 'give their nodes back'],
  ] as const) {
    many(request.command(`${how} <pool> [ids...]`).description(what)).action((name, ids, options) =>
      run(async () => (await import('./request-end.js')).end(name, ids, how, options)),
    );
  }
}

function parseTime(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('It is a time such as 30m, 2h or 1d, of at most 30 days.');
}

function parseNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a whole number from 0 to 999999.');
}

function parseCount(text: string): number {
  const count = Number(text);
  if (/^[1-9]\d*$/.test(text) && count <= 5_000) return count;
  throw new InvalidArgumentError('It is a whole number from 1 to 5000.');
}
