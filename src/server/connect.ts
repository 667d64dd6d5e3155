import {
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type ConnectionOptions,
} from '@temporalio/client';
import { grpcStatus } from '../model/grpc-status.js';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type NextCall = Parameters<Interceptor>[1];

/** Longest pause of a call while the server is away, in ms. A program ends no sooner than its pauses. */
const longestPauseMs = 1_000;

/** Longest pause before the next attempt to connect, in ms; gRPC's own limit is two minutes. */
const reconnectMs = 2_000;

/**
 * Largest response, as workers have it. A page of a history has up to 256 events, some of which
 * carry a whole state; gRPC's own limit is 4 MiB.
 */
const maxResponseBytes = 128 * 1024 * 1024;

/**
 * A connection that is made by its first call. Calls are tried again as the SDK does, but those
 * that still wait for another try when the connection is closed are cancelled then.
 */
export function openConnection(options: ConnectionOptions): Connection {
  return Connection.lazy({
    ...options,
    interceptors: [retryUntilClosed],
    channelArgs: {
      'grpc.max_reconnect_backoff_ms': reconnectMs,
      'grpc.max_receive_message_length': maxResponseBytes,
      ...options.channelArgs,
    },
  });
}

const { delayFunction, retryableDecider } = defaultGrpcRetryOptions({ maxAttempts: 20 });
const retry = makeGrpcRetryInterceptor({
  retryableDecider,
  // A server that is overloaded gets the SDK's longer pauses.
  delayFunction: (attempt, status) =>
    Math.min(
      delayFunction(attempt, status),
      status.code === grpcStatus.unavailable ? longestPauseMs : Infinity,
    ),
});

/** The SDK's interceptor tries again in a timer, where an error ends the process. */
const retryUntilClosed: Interceptor = (options, nextCall) =>
  retry(options, (again) => {
    try {
      return nextCall(again);
    } catch (error) {
      return cancelledCall(String(error));
    }
  });

function cancelledCall(details: string): ReturnType<NextCall> {
  const ignore = () => undefined;
  return {
    start(metadata, listener) {
      listener?.onReceiveMessage?.(null);
      listener?.onReceiveStatus?.({ code: grpcStatus.cancelled, details, metadata });
    },
    sendMessage: ignore,
    sendMessageWithContext: ignore,
    startRead: ignore,
    halfClose: ignore,
    cancelWithStatus: ignore,
    getPeer: () => '',
    getAuthContext: () => null,
  };
}
