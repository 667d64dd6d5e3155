import type { Config } from '../../config/index.js';
import { openOwnBucket } from '../cluster/log/open-archive.js';
import { messageOf } from '../report-error.js';
import { fail, ok, skipped, type Finding } from './doctor-local.js';

const check = 'object store';

/** Whether this machine reads the logs there, with the credentials in heddle.yaml. Nothing is written. */
export async function checkObjectStore(config: Config): Promise<Finding> {
  const bucket = openOwnBucket(config);
  if (bucket === undefined) return skipped(check, 'none is configured');
  try {
    await bucket.list('logs/doctor/');
    return ok(check, `${bucket.place} can be read`);
  } catch (error) {
    return fail(check, messageOf(error), 'heddle config show');
  }
}
