/**
 * What an image is made of: lower layers of a sandbox's overlay, uppermost first. `host` is the root file system of the
 * system the service runs on. A captured image would be one more folder in front of the layers it was made on.
 */
export const images: Readonly<Record<string, readonly string[]>> = {
  host: ['/'],
};

/** @throws Error when there is no such image. */
export function lowerLayersOf(image: string): readonly string[] {
  const layers = images[image];
  if (layers === undefined) throw new Error(`There is no image '${image}'. Known: ${Object.keys(images).join(', ')}.`);
  return layers;
}
