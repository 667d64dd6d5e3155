// The application: greets with the name of its node, and counts visits in Redis. While the primary is away it shows the
// count of the replica. Arguments: address, port, name of the node. app.json names the servers, and is read each time.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const [address, port, node] = process.argv.slice(2);
const settings = () => JSON.parse(readFileSync('app.json', 'utf8'));
const { greeting } = settings();
const patienceMs = 10_000;

/** Sends one command, and resolves to the number in the answer. */
function ask(server, command) {
  return new Promise((resolve, reject) => {
    const [host, port] = server.split(':');
    const socket = connect({ host, port: Number(port), timeout: 1000 }, () => socket.write(`${command}\r\n`));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
      const found = /^(?::(\d+)\r\n|\$\d+\r\n(\d+)\r\n|\$-1\r\n)/.exec(text);
      if (found !== null) resolve(Number(found[1] ?? found[2] ?? 0));
      if (found !== null || text.startsWith('-')) socket.destroy();
    });
    socket.on('timeout', () => socket.destroy());
    socket.on('error', reject).on('close', () => reject(new Error(`${server} gave no answer: ${text}`)));
  });
}

async function countVisit() {
  const last = Date.now() + patienceMs;
  for (;;) {
    try {
      const { redis, replica } = settings();
      return await ask(redis, 'INCR visits').catch(() => ask(replica, 'GET visits'));
    } catch (error) {
      if (Date.now() > last) throw error;
      await pause(100);
    }
  }
}

const server = createServer(async (request, response) => {
  if (request.url === '/health') return response.end('well\n');
  const visits = await countVisit().catch(() => undefined);
  console.log(
    `${new Date().toISOString()} ${request.method} ${request.url} visit ${visits ?? 'not counted'}`,
  );
  if (visits === undefined) return response.writeHead(503).end('no store answers\n');
  response.end(`${greeting} from ${node}\nvisit ${visits}\n`);
});
server.listen(Number(port), address);
// Requests under way are answered before it ends.
process.on('SIGTERM', () => server.close(() => process.exit(0)));
