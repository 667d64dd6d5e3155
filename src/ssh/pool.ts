import { within } from '../model/signals.js';
import { connect, type ConnectOptions } from './connect.js';
import type { Connection } from './connection.js';
import { connectionKey, type SshTarget } from './target.js';

export interface ConnectionPool {
  /**
   * A connection to the target: the one that is open, the one being opened, or a new one.
   * @throws PluginError as {@link connect} does; the signal's reason when it is aborted meanwhile.
   */
  acquire(target: SshTarget, signal?: AbortSignal): Promise<Connection>;
  /** The connection to the target if one is open. Dead ones are closed within 15 s. */
  openConnection(target: SshTarget): Connection | undefined;
  /** Takes over an open connection to the target. An earlier one is closed once it is idle. */
  add(target: SshTarget, connection: Connection): void;
  /** Ends every connection; work on the nodes continues. */
  closeAll(): Promise<void>;
}

export interface PoolOptions extends Omit<ConnectOptions, 'signal' | 'openJump'> {
  /** Time after which an idle connection is closed, in ms. Default: 60 s. */
  readonly idleMs?: number;
}

/** One connection per node, login and expected host key. A process needs one pool. */
export function createPool(options: PoolOptions = {}): ConnectionPool {
  const { idleMs = 60_000, ...connectOptions } = options;
  const entries = new Map<string, Promise<Connection>>();
  const opened = new Map<string, Connection>();
  /** All that are open, also those that another one has replaced. */
  const connections = new Set<Connection>();

  /** Not tied to any caller's signal, because others may be waiting for it; its own deadline ends it. */
  function start(key: string, target: SshTarget): Promise<Connection> {
    return keep(key, connect(target, { ...connectOptions, openJump: (jump) => acquire(jump) }));
  }

  function keep(key: string, entry: Promise<Connection>): Promise<Connection> {
    const forget = () => {
      if (entries.get(key) === entry) entries.delete(key);
    };
    entries.set(key, entry);
    entry
      .then((connection) => {
        const before = opened.get(key);
        if (before !== connection && before?.busy === false) before.close();
        opened.set(key, connection);
        connections.add(connection);
        closeWhenIdle(connection, idleMs, forget);
        return connection.closed.then(() => {
          connections.delete(connection);
          if (opened.get(key) === connection) opened.delete(key);
          forget();
        });
      })
      .catch(forget);
    return entry;
  }

  async function acquire(target: SshTarget, signal?: AbortSignal): Promise<Connection> {
    signal?.throwIfAborted();
    const wait = (entry: Promise<Connection>): Promise<Connection> =>
      signal === undefined ? entry : within(entry, signal);
    const key = connectionKey(target);
    const connection = await wait(entries.get(key) ?? start(key, target));
    // It may have ended a moment ago, before its entry was dropped.
    return connection.open ? connection : wait(start(key, target));
  }

  return {
    acquire,
    openConnection(target) {
      const connection = opened.get(connectionKey(target));
      return connection?.open === true ? connection : undefined;
    },
    add(target, connection) {
      void keep(connectionKey(target), Promise.resolve(connection));
    },
    async closeAll() {
      const opening = [...entries.values()];
      entries.clear();
      await Promise.allSettled(opening);
      await Promise.all(
        [...connections].map(async (connection) => {
          connection.close();
          await connection.closed;
        }),
      );
    },
  };
}

function closeWhenIdle(connection: Connection, idleMs: number, forget: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  connection.onIdle = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (connection.busy) return;
      forget();
      connection.close();
    }, idleMs).unref();
  };
  connection.onIdle();
  void connection.closed.then(() => clearTimeout(timer));
}
