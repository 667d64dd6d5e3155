// The application: says which node answers. Address and port come from the command line.
import { createServer } from 'node:http';

const [address, port, node] = process.argv.slice(2);
createServer((_request, response) => response.end(`hello from ${node}\n`)).listen(Number(port), address);
