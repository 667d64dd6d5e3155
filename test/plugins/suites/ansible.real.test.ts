import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';
import { ansibleIsMissing, ansibleProgram } from '../automators/ansible/support/program.js';

const playbook = `
- hosts: all
  gather_facts: false
  tasks:
    - name: what the suite asks for
      ansible.builtin.shell:
        # Ansible fails where a command ends before it has read its input.
        cmd: |
          (
          {{ script }}
          )
          code=$?; {{ 'cat >/dev/null;' if heddle.data else '' }} exit $code
        stdin: "{{ heddle.data }}"
        stdin_add_newline: false
        executable: /bin/sh
      environment: {HEDDLE_RESULT: "{{ heddle.result }}"}
`;

const missing = ansibleIsMissing();
if (missing !== undefined) test.skip(`the suite: ${missing}`);
else
  automatorSuite(
    { describe, test, afterAll },
    {
      name: 'ansible',
      admin: { program: ansibleProgram },
      script: (script, data) => ({ playbook, vars: { script }, data }),
      patienceMs: 90_000,
      without: {
        'lost-connection':
          'a play that is cut off is played again from its start, and it is for its tasks to bear that',
      },
    },
  );
