import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { providerSuite } from '../../../src/testing/index.js';
import { archiveOf } from '../../harness/suites/archive.js';
import { podmanIsMissing, startPodman } from '../providers/docker/support/podman.js';
import { publicLine } from '../../harness/ssh-server.js';

const missing = podmanIsMissing();

if (missing !== undefined) test.skip(`provider docker: ${missing}`);
else {
  providerSuite(
    { describe, test, afterAll },
    {
      name: 'docker',
      endpoint: 'endpoint',
      uploads: true,
      open: async () => {
        const podman = await startPodman();
        const keyFile = join(podman.folder, 'login-key');
        const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
          .privateKey.export({ type: 'sec1', format: 'pem' })
          .toString();
        writeFileSync(keyFile, key, { mode: 0o600 });
        const { file, remove } = await archiveOf('etc', 'greeting');
        return {
          upload: { file, format: 'tar' },
          admin: {
            endpoint: podman.http,
            network: podman.network,
            reachBy: 'port',
            address: '127.0.0.1',
            user: 'root',
            init: true,
            privateKey: { secret: `file:${keyFile}` },
            publicKeys: [publicLine(key)],
          },
          flavor: 'any',
          image: podman.image,
          close: async () => {
            remove();
            await podman.close();
          },
        };
      },
      without: {
        'list-pages': 'the list of its API has no pages',
        'wrong-credentials': 'its API takes no credentials; who may connect may do everything',
        redaction: 'its API takes no credentials; the client key of TLS stays in the TLS layer',
      },
    },
  );
}
