import { warningAt, type Path, type Problem } from '../schema/problem.js';
import { readForDriver, readKeys, type NodepoolPart } from './written.js';

/** Known keys without a counterpart, and the alternatives. */
const instead: Readonly<Record<string, string>> = {
  'zookeeper-servers': 'Temporal stores the state.',
  'zookeeper-tls': 'The connection to Temporal is configured by temporal.toml or TEMPORAL_ variables.',
  webapp: 'Use heddle pool, or the Temporal Web UI.',
  'elements-dir': "Heddle's builders have their own folders and logs.",
  'images-dir': "Heddle's builders have their own folders and logs.",
  'build-log-dir': "Heddle's builders have their own folders and logs.",
  'build-log-retention': "Heddle's builders have their own folders and logs.",
  'cloud-images': 'Add them under images of the provider account.',
  cloud: 'Credentials are fields of the provider account in heddle.yaml.',
  'region-name': 'It is a field of the provider account in heddle.yaml.',
  'availability-zones': 'Set it as a field of the label under providerPools, if the provider supports it.',
  networks: 'Set it as a field of the label under providerPools, if the provider supports it.',
  'security-groups': 'Set it as a field of the label under providerPools, if the provider supports it.',
  'auto-floating-ip': 'Set it as a field of the label under providerPools, if the provider supports it.',
  userdata: 'Set it as a field of the label under providerPools, if the provider supports it.',
  'key-name': 'Set it as a field of the label under providerPools, if the provider supports it.',
  'boot-from-volume': 'Set it as a field of the label under providerPools, if the provider supports it.',
  'volume-size': 'Set it as a field of the label under providerPools, if the provider supports it.',
  'instance-properties':
    'Heddle sets its own tags; use attributes of the provider pool for information for users.',
  'max-volumes': 'Define a quantity under limits, and the amount for each machine under uses.',
  'max-volume-gb': 'Define a quantity under limits, and the amount for each machine under uses.',
  'host-key-checking': 'Host keys are always checked: unknown keys are pinned on first contact.',
  timeout: 'A probe of a machine has a timeout of 3 s.',
  'connection-type': 'Nodes are reached by SSH.',
  pause: 'Pause uploads to an account with heddle image pause NAME --uploads ACCOUNT.',
  'shell-type': 'Scripts run in /bin/sh, or in the interpreter that an action names.',
  'python-path': 'Automators that need Python find it themselves.',
  'console-log': "Use the provider's own console.",
  'hostname-format': 'Hostnames are <pool>-<label>-<number>.',
  'image-name-format': 'Images are named NAME@NUMBER.',
  'post-upload-hook': 'An image can be validated by a command before it is offered.',
  'clean-floating-ips': 'The sweep finds orphaned machines.',
  'port-cleanup-interval': 'The sweep finds orphaned machines.',
};

/** Reports every key of a part that the import does not read. */
export function remarkUnread(
  part: NodepoolPart,
  value: object,
  path: Path,
  driver?: keyof typeof readForDriver,
): readonly Problem[] {
  const forDriver = driver === undefined ? [] : (readForDriver[driver][part] ?? []);
  const read: readonly string[] = [...readKeys[part], ...forDriver];
  return Object.keys(value)
    .filter((key) => !read.includes(key))
    .map((key) => leftOut([...path, key], instead[key]));
}

export function leftOut(path: Path, right = 'Heddle has no alternative.'): Problem {
  return warningAt(path, 'has no counterpart and is omitted', right);
}

/** Of a label that the file does not declare, or that is disabled. */
export function labelOmitted(label: string, at: Path): Problem {
  return warningAt([...at, 'name'], `label ${label} is not declared, or is disabled, and is omitted here`);
}
