// A small store for machines without Redis: PING, GET, INCR and REPLICAOF of its protocol. With "ping" it asks a server.
// Arguments: the file redis.conf, and perhaps "ping".
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';

const [file, word] = process.argv.slice(2);
const conf = new Map(
  readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => [line.split(' ')[0], line.split(' ').slice(1)]),
);
const [address] = conf.get('bind');
const port = Number(conf.get('port')[0]);
const primary = conf.get('replicaof');
const data = `${conf.get('dir')[0]}/data.json`;
const values = existsSync(data) ? JSON.parse(readFileSync(data, 'utf8')) : {};
// A replica answers reads when it has seen its primary once.
let ready = primary === undefined;

function ask(host, port, line) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 1000 }, () => socket.write(`${line}\r\n`));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
      const bulk = /^\$(\d+)\r\n/.exec(text);
      const length = bulk === null ? text.indexOf('\r\n') + 1 : bulk[0].length + Number(bulk[1]) + 2;
      if (length === 0 || text.length < length) return;
      resolve(text);
      socket.destroy();
    });
    socket.on('error', reject).on('close', () => reject(new Error('closed')));
    socket.on('timeout', () => socket.destroy());
  });
}

function answer([command = '', key = '']) {
  if (command === 'PING') return ready ? '+PONG\r\n' : '-LOADING no data yet\r\n';
  if (command === 'INCR' && primary !== undefined) return '-READONLY this is a replica\r\n';
  if (command === 'INCR') {
    values[key] = String(Number(values[key] ?? 0) + 1);
    writeFileSync(data, JSON.stringify(values));
    return `:${values[key]}\r\n`;
  }
  const value = values[key];
  return value === undefined ? '$-1\r\n' : `$${value.length}\r\n${value}\r\n`;
}

async function follow([host, port]) {
  try {
    const text = await ask(host, Number(port), 'GET visits');
    const value = text.split('\r\n')[1];
    if (text.startsWith('$') && !text.startsWith('$-1')) values.visits = value;
    ready = true;
  } catch {
    // The primary is away: the values stay as they are.
  }
  setTimeout(follow, 200, [host, port]);
}

if (word === 'ping') {
  const text = await ask(address, port, 'PING').catch((error) => String(error));
  process.exit(text.startsWith('+PONG') ? 0 : 1);
}
if (primary !== undefined) void follow(primary);
createServer((socket) => {
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    for (const line of String(chunk).split('\r\n').filter(Boolean)) socket.write(answer(line.split(' ')));
  });
}).listen(port, address);
process.on('SIGTERM', () => process.exit(0));
