"""Runs shell steps in order on many hosts with one tool. Prints the seconds that the steps took.

Usage: run.py TOOL PORT KEY STEPS HOST [HOST ...]
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time

tool, port, key, steps, *hosts = sys.argv[1:]
port, steps = int(port), int(steps)
user = os.environ.get("USER", "root")


async def by_asyncssh() -> None:
    import asyncssh

    async def one(host: str) -> None:
        async with asyncssh.connect(
            host, port, username=user, client_keys=[key], known_hosts=None, config=None
        ) as connection:
            for _ in range(steps):
                await connection.run("true", check=True)

    await asyncio.gather(*(one(host) for host in hosts))


def by_parallel_ssh() -> None:
    from pssh.clients import ParallelSSHClient

    client = ParallelSSHClient(hosts, port=port, user=user, pkey=key, pool_size=len(hosts), allow_agent=False)
    for _ in range(steps):
        outputs = client.run_command("true")
        client.join(outputs)
        assert all(output.exit_code == 0 for output in outputs)


def by_pyinfra(folder: str) -> None:
    inventory = os.path.join(folder, "inventory.py")
    with open(inventory, "w") as file:
        data = {"ssh_port": port, "ssh_user": user, "ssh_key": key, "ssh_strict_host_key_checking": "no"}
        file.write(f"hosts = {[(host, data) for host in hosts]!r}\n")
    deploy = os.path.join(folder, "deploy.py")
    with open(deploy, "w") as file:
        file.write("from pyinfra.operations import server\n")
        for step in range(steps):
            file.write(f"server.shell(name='step {step}', commands=['true'])\n")
    program = os.path.join(os.path.dirname(sys.executable), "pyinfra")
    subprocess.run([program, "-y", inventory, deploy], check=True, capture_output=True)


def by_ansible(folder: str) -> None:
    inventory = os.path.join(folder, "inventory")
    with open(inventory, "w") as file:
        for host in hosts:
            file.write(f"{host} ansible_port={port} ansible_user={user} ansible_ssh_private_key_file={key}\n")
    playbook = os.path.join(folder, "playbook.yaml")
    with open(playbook, "w") as file:
        file.write("- hosts: all\n  gather_facts: false\n  tasks:\n")
        file.write("    - ansible.builtin.shell: 'true'\n" * steps)
    program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
    environment = {
        **os.environ,
        "ANSIBLE_HOST_KEY_CHECKING": "False",
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_FORKS": str(len(hosts)),
        "ANSIBLE_LOCAL_TEMP": folder,
    }
    subprocess.run([program, "-i", inventory, playbook], check=True, capture_output=True, env=environment)


began = time.perf_counter()
with tempfile.TemporaryDirectory() as folder:
    if tool == "asyncssh":
        asyncio.run(by_asyncssh())
    elif tool == "parallel-ssh":
        by_parallel_ssh()
    elif tool == "pyinfra":
        by_pyinfra(folder)
    elif tool == "ansible":
        by_ansible(folder)
    else:
        sys.exit(f"unknown tool {tool}")
print(f"{time.perf_counter() - began:.2f}")
