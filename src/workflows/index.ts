export { claims } from './claims.js';
export { cluster } from './cluster.js';
export { group } from './group.js';
export { machine } from './machine/machine.js';
export { plan } from './plan.js';
export { pool } from './pool/pool.js';
export { sweep } from './sweep.js';
