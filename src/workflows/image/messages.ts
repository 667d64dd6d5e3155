import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { BuildReply, ConfigureImageReply, ConfigureImageRequest } from '../../model/image/messages.js';
import type { ImageUpdate } from '../../model/image/notification.js';
import type { ImageSpec } from '../../model/image/spec.js';
import type { ImageView } from '../../model/image/view.js';

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
/** From a pool: subscribe to the offered versions. */
export const watchImageSignal = defineSignal<[{ readonly workflowId: string }]>('watch');
/** To subscribers. */
export const imageUpdateSignal = defineSignal<[ImageUpdate]>('imageUpdate');
export const imageQuery = defineQuery<ImageView>('image');
export const imageSpecQuery = defineQuery<ImageSpec | null>('spec');
