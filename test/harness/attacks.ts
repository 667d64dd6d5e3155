/**
 * Values that a hostile node, provider or cluster reports. Each creates the witness file
 * wherever something executes or interprets it.
 */
export const attacksOn = (witness: string): readonly string[] => [
  `$(touch ${witness})`,
  `\`touch ${witness}\``,
  `'; touch ${witness}; '`,
  `"; touch ${witness}; "`,
  `x\ntouch ${witness}\n`,
  `--checkpoint-action=exec=touch ${witness}`,
  `x"\n- hosts: localhost\n  connection: local\n  tasks: [{ansible.builtin.command: touch ${witness}}]\n`,
  `{{ lookup('pipe', 'touch ${witness}') }}`,
  `{% set x = lookup('pipe', 'touch ${witness}') %}`,
  `#{\`touch ${witness}\`} <%= \`touch ${witness}\` %>`,
];

/** Names of expressions for the values, by who supplies them. */
export const origins = {
  'the payload of the node': (index: number) => `node.attack${index}`,
  'the host name of another node': (index: number) => `nodes.app-${index + 2}.hostname`,
  'the address of another node': (index: number) => `nodes.app-${index + 2}.ipaddress`,
  'an output of another cluster': (index: number) => `var.attack${index}`,
} as const;
export type Origin = keyof typeof origins;

export const expression = (name: string): string => `\${{ ${name} }}`;
