import { expect, test } from 'vitest';
import { readFru, readSensors } from '../../../../src/plugins/providers/ipmi/hardware.js';

const fru = `FRU Device Description : Builtin FRU Device (ID 0)
 Chassis Type          : Rack Mount Chassis
 Chassis Serial        : C-1
 Board Mfg Date        : Mon Jan  6 10:00:00 2025 UTC
 Board Mfg             : Contoso
 Board Product         : X11
 Product Manufacturer  : Contoso
 Product Name          : Blade 9000
 Product Serial        : SN: 17

FRU Device Description : DIMM A1 (ID 3)
 Product Name          : 32 GB DDR5
 Product Serial        : D-1

FRU Device Description : PSU 2 (ID 9)
 Device not present (Requested sensor, data, or record not found)
`;

test('the first product is the machine, and other devices are its parts', () => {
  expect(readFru(fru)).toEqual({
    manufacturer: 'Contoso',
    model: 'Blade 9000',
    serial: 'SN: 17',
    parts: [{ name: 'DIMM A1', model: '32 GB DDR5', serial: 'D-1' }],
  });
});

test('a board stands for a machine without a product; words that say nothing are absent', () => {
  const board = `FRU Device Description : Builtin FRU Device (ID 0)
 Board Mfg             : Contoso
 Board Product         : X11
 Board Serial          : To be filled by O.E.M.
`;
  expect(readFru(board)).toEqual({ manufacturer: 'Contoso', model: 'X11' });
});

test.each([
  [''],
  ['Device not present'],
  ['FRU Device Description : Builtin FRU Device (ID 0)\n Device not present (x)'],
])('no inventory is read from %j', (text) => {
  expect(readFru(text)).toEqual({});
});

test('sensors without a reading are left out', () => {
  const text = `CPU1 Temp        | 40 degrees C      | ok
FAN 2            | no reading        | ns
PS2 Status       | 0x01              | ok
Unable to open SDR for reading
`;
  expect(readSensors(text)).toEqual([
    { name: 'CPU1 Temp', reading: '40 degrees C', status: 'ok' },
    { name: 'PS2 Status', reading: '0x01', status: 'ok' },
  ]);
});
