// @ts-check
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

/** Preloaded by a process under test: it takes itself for a process of another host. */
os.hostname = () => 'another-host';
syncBuiltinESMExports();
