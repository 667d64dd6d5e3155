export { claims } from './claims.js';
export { cluster } from './cluster.js';
export { plan } from './plan.js';
