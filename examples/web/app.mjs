// The application: answers with the name of its node. Arguments: address and port.
import { createServer } from 'node:http';

const [address, port, node] = process.argv.slice(2);
createServer((_request, response) => response.end(`hello from ${node}\n`)).listen(Number(port), address);
