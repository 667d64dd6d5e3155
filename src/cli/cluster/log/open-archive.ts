import type { Config } from '../../../config/index.js';
import { readBucketCredentials } from '../../../secrets/bucket-credentials.js';
import { secretSourcesOf } from '../../../secrets/reference.js';
import { openFolderArchive } from '../../../store/folder.js';
import { openBucket, type Bucket } from '../../../store/s3/bucket.js';
import { openS3Archive } from '../../../store/s3/store.js';
import type { LogArchive } from '../../../store/store.js';

/** The logs that this machine can read: those in the bucket, or those in its own folder. */
export function openArchive(config: Pick<Config, 'bucket' | 'storeFolder' | 'environment'>): LogArchive {
  const bucket = openOwnBucket(config);
  return bucket === undefined
    ? openFolderArchive(config.storeFolder)
    : openS3Archive({ bucket, folder: config.storeFolder });
}

/** The bucket in heddle.yaml. */
export function openOwnBucket(config: Pick<Config, 'bucket' | 'environment'>): Bucket | undefined {
  const { bucket } = config;
  if (bucket === undefined) return undefined;
  return openBucket(bucket, () => readBucketCredentials(bucket, secretSourcesOf(config)));
}
