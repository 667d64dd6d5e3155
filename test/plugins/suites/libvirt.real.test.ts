import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { providerSuite } from '../../../src/testing/index.js';
import { libvirtIsMissing, startLibvirtd } from '../providers/libvirt/support/libvirtd.js';

const missing = libvirtIsMissing();
const inMemory =
  "the machines of libvirt's test driver exist in its memory alone; its own tests look at their disks";
const noContent =
  "volumes of libvirt's test driver have no content; uploads.real.test.ts sends some to QEMU's";
const noHttp = 'virsh speaks no HTTP; its own tests lose the answer of each command in turn';

if (missing !== undefined) test.skip(`provider libvirt: ${missing}`);
else {
  providerSuite(
    { describe, test, afterAll },
    {
      name: 'libvirt',
      uploads: true,
      machines: ['power', 'load', 'capture', 'retrieve', 'unload'],
      open: async () => {
        const libvirtd = await startLibvirtd();
        const diskFile = join(libvirtd.folder, 'disk');
        writeFileSync(diskFile, randomBytes(1_024));
        return {
          admin: {
            uri: libvirtd.test,
            pool: 'default-pool',
            hypervisor: 'test',
            cloudInit: false,
            shutDownSeconds: 0,
          },
          silent: { uri: 'qemu+unix:///system?socket=/nowhere/libvirt-sock' },
          flavor: '1x64m',
          image: 'base',
          upload: { file: diskFile, format: 'raw' },
          close: () => libvirtd.close(),
        };
      },
      without: {
        'list-pages': 'virsh lists all domains in one answer',
        login: inMemory,
        'lost-create': noHttp,
        'half-made': noHttp,
        'lost-delete': noHttp,
        cancel: noHttp,
        garbage: noHttp,
        refusals: noHttp,
        unreachable: noHttp,
        'power-lost': noHttp,
        'load-lost': noHttp,
        'capture-lost': noHttp,
        'capture-cancel': noHttp,
        upload: noContent,
        'upload-list': noContent,
        'upload-lost': noHttp,
        'upload-cancel': noHttp,
        load: inMemory,
        'load-absent': inMemory,
        'load-other-key': inMemory,
        'unload-content': inMemory,
        'missing-fields': 'it needs no field: it finds libvirt where libvirt is',
        'wrong-credentials': 'it has no credentials but those of ssh, which virsh finds by itself',
        redaction: "libvirt's test driver takes no seed disk, where the only secret would go",
      },
    },
  );
}
