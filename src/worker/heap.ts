import { setFlagsFromString } from 'node:v8';

/**
 * Lets V8 collect garbage sooner, in this process and in threads that start later. A worker with
 * 2,000 nodes in progress takes 30 % less memory for 10 % more CPU time (docs/explanation/performance.md).
 */
export function collectGarbageSooner(): void {
  setFlagsFromString('--heap-growing-percent=100');
  setFlagsFromString('--max-semi-space-size=4');
}
