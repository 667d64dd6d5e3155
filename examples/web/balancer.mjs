// A small balancer for machines without nginx: reads its upstreams for each request and uses them in turn.
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';

const [address, port, file] = process.argv.slice(2);
let turn = 0;
const server = createServer((incoming, outgoing) => {
  const upstreams = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const upstream = upstreams[turn++ % upstreams.length];
  const fail = () => outgoing.writeHead(502).end('no application answers\n');
  if (upstream === undefined) return fail();
  const call = request(`http://${upstream}${incoming.url}`, { method: incoming.method }, (answer) => {
    outgoing.writeHead(answer.statusCode);
    answer.pipe(outgoing);
  });
  call.on('error', fail);
  incoming.pipe(call);
});
server.listen(Number(port), address);
// Requests under way are answered before it ends.
process.on('SIGTERM', () => server.close(() => process.exit(0)));
