import { Socket } from 'node:net';
import { serveHost } from './host.js';

// The plugin host: loads the class of one plugin and carries out its tasks, one after the other. File
// descriptor 3 is the way to the worker; standard output and error are left to the plugin, for people.
serveHost(new Socket({ fd: 3 }), () => process.exit());
