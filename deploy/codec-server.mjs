// @ts-check
import { parseArgs } from 'node:util';
import { loadConfig } from '../dist/config/index.js';
import { hideEnvironment } from '../dist/config/hide-environment.js';
import { describeProcess } from '../dist/config/process-dump.js';
import { startCodecServer } from '../dist/secrets/codec-server.js';
import { openKeyRing, parseKeyRing } from '../dist/secrets/keys.js';

/**
 * Runs the codec server until SIGTERM or SIGINT; SIGUSR2 prints what it waits for. Keys come from HEDDLE_KEYS or the key folder, the callers'
 * token from HEDDLE_CODEC_TOKEN. It serves the namespaces of --namespace, or that of the Temporal settings. --host-name lists names, with
 * ports, under which callers reach it besides its own address.
 */
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8081' },
    origin: { type: 'string', multiple: true, default: [] },
    'host-name': { type: 'string', multiple: true, default: [] },
    namespace: { type: 'string', multiple: true },
  },
});
hideEnvironment();
const config = loadConfig();
const token = config.environment['HEDDLE_CODEC_TOKEN'];
if (token === undefined || token === '') {
  process.stderr.write(
    'HEDDLE_CODEC_TOKEN is not set: without a token whoever reaches the port could decrypt every payload. deploy/make-env.sh makes one.\n',
  );
  process.exit(1);
}
const keyRing =
  config.exportedKeys === undefined
    ? openKeyRing({ folder: config.keys.folder, create: false })
    : parseKeyRing(config.exportedKeys, 'HEDDLE_KEYS');
const { host, port, origin: origins, 'host-name': hosts } = values;
const namespaces = values.namespace ?? [config.temporal.namespace];
const server = await startCodecServer({
  keyRing,
  host,
  port: Number(port),
  origins,
  hosts,
  namespaces,
  token,
});
const stop = () => void server.stop();
process.once('SIGTERM', stop).once('SIGINT', stop);
process.on('SIGUSR2', () => process.stderr.write(`${describeProcess().join('\n')}\n`));
process.stdout.write(
  `codec server on ${host}:${port}, namespaces ${namespaces.join(', ')}, ` +
    `for ${origins.join(', ') || 'tools other than browsers'}\n`,
);
