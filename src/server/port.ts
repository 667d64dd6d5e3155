import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** The wanted port of 127.0.0.1 when nothing listens there, else a free one; 0 asks for any. */
export async function choosePort(wanted: number): Promise<number> {
  return (await tryPort(wanted)) ?? (await choosePort(0));
}

/** Whether something accepts connections at a port of 127.0.0.1. */
export async function isOpen(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function tryPort(wanted: number): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen({ host: '127.0.0.1', port: wanted, exclusive: true });
    await once(server, 'listening');
    const address = server.address();
    return address !== null && typeof address === 'object' ? address.port : undefined;
  } catch (cause) {
    // Ports below 1024 may be forbidden: that is worth an error, not another port.
    if (cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE') return undefined;
    throw cause;
  } finally {
    server.close();
  }
}
