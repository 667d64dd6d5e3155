import { warningAt, type Path, type Problem } from '../problem.js';
import { readForDriver, readKeys, type NodepoolPart } from './written.js';

/** Keys that are known and have no counterpart, and what there is instead. */
const instead: Readonly<Record<string, string>> = {
  'zookeeper-servers': 'Temporal keeps the state.',
  'zookeeper-tls': "Connection settings are Temporal's own: temporal.toml or TEMPORAL_ variables.",
  webapp: 'Look with heddle pool, or in the Temporal Web UI.',
  'elements-dir': 'The builders of Heddle have their own folders and logs.',
  'images-dir': 'The builders of Heddle have their own folders and logs.',
  'build-log-dir': 'The builders of Heddle have their own folders and logs.',
  'build-log-retention': 'The builders of Heddle have their own folders and logs.',
  'cloud-images': 'Name them under images of the provider account.',
  cloud: 'Credentials are fields of the provider account in heddle.yaml.',
  'region-name': 'It is a field of the provider account in heddle.yaml.',
  'availability-zones': 'It is a field of the label under providerPools, where the provider has it.',
  networks: 'It is a field of the label under providerPools, where the provider has it.',
  'security-groups': 'It is a field of the label under providerPools, where the provider has it.',
  'auto-floating-ip': 'It is a field of the label under providerPools, where the provider has it.',
  userdata: 'It is a field of the label under providerPools, where the provider has it.',
  'key-name': 'It is a field of the label under providerPools, where the provider has it.',
  'boot-from-volume': 'It is a field of the label under providerPools, where the provider has it.',
  'volume-size': 'It is a field of the label under providerPools, where the provider has it.',
  'instance-properties':
    'Tags are set by Heddle; use attributes of the provider pool for what users are to know.',
  'max-volumes': 'Name a word of your own under limits, and what a machine takes of it under uses.',
  'max-volume-gb': 'Name a word of your own under limits, and what a machine takes of it under uses.',
  'host-key-checking': 'Host keys are always checked: pinned at the first contact if they are not given.',
  timeout: 'A machine is asked for 3 s whether it answers.',
  'connection-type': 'Nodes are reached by SSH.',
  pause: 'Pause uploads to an account with heddle image pause NAME --uploads ACCOUNT.',
  'shell-type': 'Scripts are run by /bin/sh, or by the interpreter that an action names.',
  'python-path': 'An automator that needs Python looks for it.',
  'console-log': 'Look at the console where the provider shows it.',
  'hostname-format': 'Hostnames are <pool>-<label>-<number>.',
  'image-name-format': 'Images are called NAME@NUMBER.',
  'post-upload-hook': 'An image can be validated by a command before it is offered.',
  'clean-floating-ips': 'The sweep finds orphans.',
  'port-cleanup-interval': 'The sweep finds orphans.',
};

/** Notes every key of a part that is not read. */
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

export function leftOut(path: Path, right = 'Nothing here does the same.'): Problem {
  return warningAt(path, 'has no counterpart and is left out', right);
}
