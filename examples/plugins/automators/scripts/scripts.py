#!/usr/bin/env python3
"""An automator in Python with heddle_plugin, which workers add to PYTHONPATH. Each call is a process of its own."""
from heddle_plugin import Automator, PluginError, run

# Where the node records what was carried out.
RECORD = '"$HOME/.scripts"'


class Scripts(Automator):
    def bootstrap(self, ssh_auth):
        """Prepares a node. Runs any number of times."""
        self.execute(f"mkdir -p {RECORD}")

    def carry_out(self, action, script, data):
        """Install, configure, init, start, stop and remove alike: runs the script once, also after a crash."""
        self.log.debug(f"carries out {action}")
        outcome = self.shell.run(script, stdin=data)
        if outcome["exitCode"] != 0:
            raise PluginError("ScriptFailed", f"the {action} script ended with exit code {outcome['exitCode']}", exit_code=outcome["exitCode"])
        self.execute(f"echo {action} >>{RECORD}/done")
        return outcome.get("results", {})

    def execute(self, text):
        """Runs a command that is safe to repeat."""
        outcome = self.shell.exec("sh", "-c", text)
        if outcome["exitCode"] != 0:
            raise PluginError("Retryable", f"{text} ended with exit code {outcome['exitCode']} on the node")


if __name__ == "__main__":
    run(Scripts)
