import { PluginError } from '../contract.js';

/**
 * The URL of a path or link in a response, which must be on the server that heddle.yaml names, because
 * credentials and commands may go to no other server.
 * @param from Location of the link. Default: the server itself.
 * @throws PluginError Invalid for a link to another origin or scheme.
 */
export function resolveLink(link: string, server: URL, from: URL = server): URL {
  const target = URL.canParse(link, from.href) ? new URL(link, from) : undefined;
  if (target === undefined || target.username !== '' || target.password !== '')
    throw new PluginError(
      'Invalid',
      `${server.origin} returned a link that is not a valid URL: ${JSON.stringify(link.slice(0, 200))}`,
    );
  if (target.origin !== server.origin)
    throw new PluginError(
      'Invalid',
      `${from.href} points to ${target.protocol}//${target.host}, which is a different server than ${server.origin}; if that is right, set it in heddle.yaml`,
    );
  return target;
}
