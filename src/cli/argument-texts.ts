import { Argument } from 'commander';

/** What arguments are, by the kind of their values, unless a command says it itself. */
const texts: Readonly<Record<string, string>> = {
  account: 'a provider account of heddle.yaml',
  cluster: 'name of the cluster',
  command: 'the program and its arguments; after -- none of them is read as an option',
  id: 'id of the request',
  ids: 'ids of the requests',
  image: 'name of the image',
  'image[@revision]': 'the image, such as base or base@2',
  key: 'name of the key',
  label: 'label of the nodes',
  labels: 'a label for each node',
  machine: 'name of the machine',
  node: 'name of the node, such as app-1',
  nodes: 'names of the nodes, such as app-1 app-2',
  output: 'name of the output (default: all)',
  plugin: 'name of the plugin',
  pool: 'name of the pool',
  reservation: 'id of the reservation',
  resource: 'name of the resource',
  services: 'names of the services',
  source: 'a path of this machine, or CLUSTER:NODE:PATH',
  target: 'a path of this machine, or CLUSTER:NODE:PATH',
  task: 'id of the task, or NODE/SERVICE/ACTION such as app-1/web/INSTALL',
  workflow: 'a cluster, or pool/NAME, machine/NAME or image/NAME',
};

/** An argument such as `<file>`, `[name]` or `<nodes...>`. */
export function describedArgument(term: string): Argument {
  const argument = new Argument(term);
  argument.description = texts[argument.name()] ?? '';
  return argument;
}
