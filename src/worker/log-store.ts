import type { Config } from '../config/index.js';
import { readBucketCredentials } from '../secrets/bucket-credentials.js';
import type { SecretSources } from '../secrets/reference.js';
import { createFolderStore } from '../store/folder.js';
import { openBucket } from '../store/s3/bucket.js';
import { createS3Store } from '../store/s3/store.js';
import type { LogStore } from '../store/store.js';

/** Where this worker's logs go: to the bucket in heddle.yaml, or into the folder. */
export function openLogStore(
  { store: { s3: bucket, folder } }: Pick<Config, 'store'>,
  sources: SecretSources,
  report: (message: string) => void,
): LogStore {
  if (bucket === undefined) return createFolderStore({ folder });
  return createS3Store({
    bucket: openBucket(bucket, () => readBucketCredentials(bucket, sources)),
    folder,
    report,
  });
}
