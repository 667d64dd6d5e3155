import { PluginError } from '../contract.js';

/**
 * The URL of a path, or of a link in an answer, at the server that heddle.yaml names: credentials and commands go to no
 * other one.
 * @param from where the link stood; the server itself unless given.
 * @throws PluginError Invalid for a link to another origin or scheme.
 */
export function resolveLink(link: string, server: URL, from: URL = server): URL {
  const target = URL.canParse(link, from.href) ? new URL(link, from) : undefined;
  if (target === undefined || target.username !== '' || target.password !== '')
    throw new PluginError(
      'Invalid',
      `${server.origin} gave a link that is no URL: ${JSON.stringify(link.slice(0, 200))}`,
    );
  if (target.origin !== server.origin)
    throw new PluginError(
      'Invalid',
      `${from.href} leads to ${target.protocol}//${target.host}, another server than ${server.origin}; name that one in heddle.yaml if it is right`,
    );
  return target;
}
