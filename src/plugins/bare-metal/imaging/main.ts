import { exits, type ImagingOrder } from './imaging-order.js';
import { serveLoad } from './serve-load.js';

/**
 * The program of one load: a detached run in the current directory. Its argument is the order. It prints
 * progress, and finally the outcome of the load.
 */
async function main(): Promise<number> {
  const order = JSON.parse(process.argv[2] ?? '') as ImagingOrder;
  const { is, why } = await serveLoad(order, { directory: process.cwd(), progress: print });
  if ((is !== 'unwritten' && is !== 'unprepared') || order.isFirst) {
    print(why);
    return exits[is];
  }
  print(`${why}; an earlier attempt may have written the disk`);
  return exits.broken;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exit(await main());
