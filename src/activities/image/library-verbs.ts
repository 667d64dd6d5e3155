import { mkdir, rename } from 'node:fs/promises';
import { machineKey, tagNames } from '../../model/names.js';
import type { ImageFileInput, LibraryInput } from '../../plugins/contract.js';
import { PluginError } from '../../plugins/errors.js';
import { readOutcome, readUploaded } from '../../schema/machine-answer.js';
import { insist } from '../machine/outcomes.js';
import { askProvider, imageInput, requireAbility, type OpenProvider } from '../machine/call-provider.js';
import type { MachineHandler, MachineCall } from '../task-call.js';
import { acquirePermit } from '../machine/permits.js';
import { builderOf, buildFile } from './build-file.js';
import { checkFile, checkInside, describeFile, fileOf, removeFile } from './files.js';

/** What is done with images apart from any machine. */
export const libraryVerbs = {
  ACQUIRE_BUILD_PERMIT: async (call) => acquirePermit(call, builderOf(call).builds, 'builds'),
  BUILD_FILE: buildFile,
  DOWNLOAD_IMAGE: (call) =>
    askProvider(call, async (open) => {
      const { folder } = builderOf(call);
      const input = libraryInput(call, open);
      const { format } = fileIn(call);
      const path = fileOf(folder, input.image, format);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const part = `${path}.part`;
      insist(
        call.action,
        readOutcome(
          await requireAbility(
            open,
            'downloadImage',
          )({ ...input, file: part, format } satisfies ImageFileInput),
          open.source('downloadImage'),
        ),
      );
      await rename(part, path);
      return { files: [await describeFile(path, format, call.attempt.signal)] };
    }),
  UPLOAD_IMAGE: (call) =>
    askProvider(call, async (open) => {
      const { folder } = builderOf(call);
      const { path, format, sha256 } = fileIn(call);
      const file = await checkFile({ path: checkInside(folder, path), format, sha256 }, call.attempt.signal);
      const input = {
        ...libraryInput(call, open),
        file: file.path,
        format,
        sha256: file.sha256,
        bytes: file.bytes,
        tags: { [tagNames.installation]: call.parts.installation, ...ownTags(call) },
      } satisfies ImageFileInput;
      const { providerImage = input.providerImage, ...outcome } = readUploaded(
        await requireAbility(open, 'uploadImage')(input),
        open.source('uploadImage'),
      );
      insist(call.action, outcome);
      return { providerImage };
    }),
  DELETE_IMAGE: (call) =>
    askProvider(call, async (open) => {
      insist(
        call.action,
        readOutcome(
          await requireAbility(open, 'deleteImage')({ ...libraryInput(call, open), tags: ownTags(call) }),
          open.source('deleteImage'),
        ),
      );
      return {};
    }),
  REMOVE_FILE: async (call) => {
    await removeFile(checkInside(builderOf(call).folder, fileIn(call).path));
    return {};
  },
} as const satisfies Readonly<Record<string, MachineHandler>>;

function libraryInput(call: MachineCall, open: OpenProvider): LibraryInput {
  const { image, providerImage, token, progress } = imageInput(call, open);
  return { image, providerImage: call.request.order.providerImage ?? providerImage, token, progress };
}

/**
 * What it is recognised by, also after a move, when the tags still have the installation that uploaded it.
 */
function ownTags({
  request: { clusterId, clusterUid, nodeId, incarnation },
}: MachineCall): Readonly<Record<string, string>> {
  return { [tagNames.key]: machineKey(clusterUid, nodeId, incarnation), [tagNames.cluster]: clusterId };
}

function fileIn({
  request: {
    order: { file },
  },
}: MachineCall): NonNullable<MachineCall['request']['order']['file']> {
  if (file === undefined) throw new PluginError('Invalid', 'the task has no file');
  return file;
}
