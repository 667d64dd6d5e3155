import type { Config } from '../../../config/index.js';
import { readBucketCredentials } from '../../../secrets/bucket-credentials.js';
import { secretSourcesOf } from '../../../secrets/reference.js';
import { openFolderArchive } from '../../../store/folder.js';
import { openBucket, type Bucket } from '../../../store/s3/bucket.js';
import { openS3Archive } from '../../../store/s3/store.js';
import type { LogArchive } from '../../../store/store.js';

/** The logs that this machine can read: those in the bucket, or those in its own folder. */
export function openArchive(config: Pick<Config, 'store' | 'environment'>): LogArchive {
  const bucket = openOwnBucket(config);
  return bucket === undefined
    ? openFolderArchive(config.store.folder)
    : openS3Archive({ bucket, folder: config.store.folder });
}

/** The bucket in heddle.yaml. */
export function openOwnBucket(config: Pick<Config, 'store' | 'environment'>): Bucket | undefined {
  const bucket = config.store.s3;
  if (bucket === undefined) return undefined;
  return openBucket(bucket, () => readBucketCredentials(bucket, secretSourcesOf(config)));
}
