"""Management controllers that speak IPMI 2.0, all in one process. Their power verbs switch machines of the machine service.

Standard input: JSON {log, endpoint, apiKey, controllers: [{name, port, machine}]}. Each command that changes something is a line
of the log: "<name> <verb>".
"""
import json
import sys
import urllib.request

import pyghmi.ipmi.bmc as bmc

config = json.load(sys.stdin)
log = open(config['log'], 'a', buffering=1)


class Controller(bmc.Bmc):
    def __init__(self, name, port, machine):
        super().__init__({'admin': 'secret'}, port=port, address='127.0.0.1')
        self.name = name
        self.machine = machine
        self.boot = 'default'
        self.told_on = False

    def note(self, verb):
        log.write(f'{self.name} {verb}\n')

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            config['endpoint'] + '/v1/machines/' + self.machine + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={'authorization': 'Bearer ' + config['apiKey'], 'content-type': 'application/json'})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def switch(self, power):
        self.call('POST', '/power', {'power': power})
        return 0

    def get_power_state(self):
        # Reads a machine other than its own.
        if self.name.startswith('misread') and not self.told_on:
            return 'off'
        return 'off' if self.call('GET', '')['state'] in ('stopped', 'failed') else 'on'

    def power_on(self):
        self.note('on')
        self.told_on = True
        return self.switch('on')

    def power_off(self):
        self.note('off')
        return self.switch('off')

    def power_cycle(self):
        self.note('cycle')
        # As many controllers do: not in this state.
        return 0xd5 if self.get_power_state() == 'off' else 0xcc if self.name.startswith('nocycle') else self.off_and_on()

    def off_and_on(self):
        self.switch('off')
        return self.switch('on')

    def power_reset(self):
        self.note('reset')
        return self.off_and_on()

    def power_shutdown(self):
        self.note('soft')
        # Some systems do not listen.
        return 0 if self.name.startswith('deaf') else self.switch('off')

    def get_boot_device(self):
        return self.boot

    def set_boot_device(self, device):
        self.note('boot ' + str(device))
        self.boot = device


controllers = [Controller(**one) for one in config['controllers']]
print('ready', flush=True)
controllers[0].listen()
