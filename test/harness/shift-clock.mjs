// @ts-check
import { readFileSync } from 'node:fs';

/**
 * Preloaded by a process under test: shifts its wall clock by as many milliseconds as the file
 * says at that moment. The monotonic clock stays.
 */
// oxlint-disable-next-line node/no-process-env -- a process under test is told from outside
const file = process.env['HEDDLE_TEST_CLOCK'] ?? '';
const RealDate = Date;

function shiftMs() {
  return Number(readFileSync(file, 'utf8'));
}

globalThis.Date = class extends RealDate {
  /** @param {any[]} given */
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + shiftMs());
    // @ts-expect-error The constructor's overloads.
    else super(...given);
  }

  static now() {
    return RealDate.now() + shiftMs();
  }
};
