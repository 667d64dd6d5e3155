import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { BuildReply, ConfigureImageReply, ConfigureImageRequest } from '../../model/image/messages.js';
import type { ImageUpdate } from '../../model/image/notification.js';
import type { ImageSpec } from '../../model/image/spec.js';
import type { ImageState } from '../../model/image/state.js';
import type { ImageView } from '../../schema/output/image.js';
import type { ExportRequest, RecordsReply } from '../../model/move.js';

interface Asked {
  readonly by: string;
}

/** Everything an image's workflow can be asked. */
export const configureImageUpdate = defineUpdate<ConfigureImageReply, [ConfigureImageRequest]>('configure');
export const buildImageUpdate = defineUpdate<BuildReply, [Asked]>('build');
/** Ends the build under way, and the request that it answers. */
export const cancelBuildUpdate = defineUpdate<BuildReply, [Asked]>('cancel');
/** Gives the number of the build that is deleted. */
export const rollbackImageUpdate = defineUpdate<BuildReply, [Asked]>('rollback');
/** Gives the number of the build whose failed uploads are retried. */
export const uploadImageUpdate = defineUpdate<BuildReply, [Asked]>('upload');
/** Builds, or only uploads to one provider account. */
export const pauseImageUpdate = defineUpdate<void, [Asked & { readonly provider?: string }]>('pause');
export const resumeImageUpdate = defineUpdate<void, [Asked & { readonly provider?: string }]>('resume');
/** One build by its number, or the whole image. */
export const deleteImageUpdate = defineUpdate<void, [Asked & { readonly build?: number }]>('delete');
/** Stop for a move, or go on here. */
export const exportImageUpdate = defineUpdate<void, [ExportRequest]>('export');
/** Null unless it is exported. */
export const imageRecordsQuery = defineQuery<RecordsReply<ImageState> | null>('records');
/** From a pool: subscribe to the offered versions. */
export const watchImageSignal = defineSignal<[{ readonly workflowId: string }]>('watch');
/** To subscribers. */
export const imageUpdateSignal = defineSignal<[ImageUpdate]>('imageUpdate');
export const imageQuery = defineQuery<ImageView>('image');
export const imageSpecQuery = defineQuery<ImageSpec | null>('spec');
