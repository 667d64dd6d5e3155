import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { macOfNeighbour } from '../../../src/plugins/bare-metal/imaging/neighbour.js';
import { newFolder } from '../../harness/folder.js';

const table = `IP address       HW type     Flags       HW address            Mask     Device
10.0.1.7         0x1         0x2         52:54:00:AA:BB:07     *        eth1
10.0.1.8         0x1         0x0         00:00:00:00:00:00     *        eth1
`;

it('the Ethernet address of a host is that of its complete entry in the table of the kernel', async () => {
  const folder = newFolder();
  const file = join(folder, 'arp');
  await writeFile(file, table);
  expect(await macOfNeighbour('10.0.1.7', file)).toBe('52:54:00:aa:bb:07');
  expect(await macOfNeighbour('10.0.1.8', file)).toBeUndefined();
  expect(await macOfNeighbour('10.0.2.7', file)).toBeUndefined();
  expect(await macOfNeighbour('10.0.1.7', join(folder, 'none'))).toBeUndefined();
  await rm(folder, { recursive: true });
});
