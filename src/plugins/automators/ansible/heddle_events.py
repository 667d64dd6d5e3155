# Reports what happens in a play as one line of JSON for each event, on the file descriptor that HEDDLE_EVENTS names.
from __future__ import annotations

import json
import os

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
    name: heddle_events
    type: stdout
    short_description: events of a play as lines of JSON
    description:
        - For Heddle, which shows them as progress and reads from them how the play ended.
"""

# Longest text of one event; of a longer one the end is kept.
LIMIT = 16 * 1024
TEXTS = ("msg", "stdout", "stderr", "module_stdout", "module_stderr", "reason")


def short(value):
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= LIMIT else text[-LIMIT:]


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "heddle_events"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._events = os.fdopen(int(os.environ["HEDDLE_EVENTS"]), "w", encoding="ascii", buffering=1)

    def _tell(self, event, **more):
        self._events.write(json.dumps({"event": event, **more}, default=str) + "\n")

    def _told(self, event, result, **more):
        # Without the values of tasks that say no_log: Ansible has taken them out by now.
        values = result._result
        texts = {name: short(values[name]) for name in TEXTS if values.get(name)}
        rc = values.get("rc")
        self._tell(
            event,
            host=result._host.get_name(),
            task=result._task.get_name().strip(),
            changed=bool(values.get("changed", False)),
            **({"rc": rc} if isinstance(rc, int) else {}),
            **texts,
            **more,
        )

    def v2_playbook_on_play_start(self, play):
        self._tell("play", name=play.get_name().strip())

    def v2_playbook_on_no_hosts_matched(self):
        self._tell("no-hosts")

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._tell("task", task=task.get_name().strip())

    def v2_playbook_on_handler_task_start(self, task):
        self._tell("task", task=task.get_name().strip())

    def v2_runner_on_ok(self, result):
        self._told("ok", result)

    def v2_runner_on_skipped(self, result):
        self._told("skipped", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._told("failed", result, ignored=bool(ignore_errors))

    def v2_runner_on_unreachable(self, result):
        self._told("unreachable", result)

    def v2_runner_retry(self, result):
        self._told("retry", result)

    def v2_runner_item_on_failed(self, result):
        self._told("item-failed", result)

    def v2_playbook_on_stats(self, stats):
        custom = {}
        for values in getattr(stats, "custom", {}).values():
            custom.update(values)
        self._tell("stats", custom=custom)
