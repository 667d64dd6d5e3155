"""Management controllers that speak IPMI 2.0, all in one process. Their power verbs switch machines of the machine service.

Standard input: JSON {log, endpoint, apiKey, boots, controllers: [{name, port, machine}]}. With `boots`, machines are told
what to boot. Each command that changes something is a line
of the log: "<name> <verb>".
"""
import json
import sys
import urllib.request

import pyghmi.ipmi.bmc as bmc
from pyghmi.ipmi.private import serversession

# Without it, pyghmi fails when it ends the session of a console, and answers no one any more.
serversession.ServerSession._customkeepalives = None
# Packets that wait in the queue of a session when it ends: a client that gave up may have sent some.
serversession.ServerSession.sessionless_data = lambda self, data, address: None

config = json.load(sys.stdin)
log = open(config['log'], 'a', buffering=1)


def fru_of(name):
    """A FRU inventory of one product area: manufacturer, product, part number, version, serial."""
    fields = b''.join(
        bytes([0xc0 | len(word)]) + word.encode() for word in ('Contoso', 'Blade 9000', 'B9-1', '1.2', 'SN-' + name))
    area = b'\x01\x00\x19' + fields + b'\xc0\xc0\xc1'
    area += b'\x00' * (-(len(area) + 1) % 8)
    area = bytes([area[0], (len(area) + 1) // 8]) + area[2:]
    header = b'\x01\x00\x00\x00\x01\x00\x00'
    return b''.join(one + bytes([-sum(one) % 256]) for one in (header, area))


class Controller(bmc.Bmc):
    def __init__(self, name, port, machine):
        super().__init__({'admin': 'secret'}, port=port, address='127.0.0.1')
        self.name = name
        self.machine = machine
        self.boot = 'default'
        self.told_on = False
        self.iohandler = self.read_console

    def is_active(self):
        return True

    def read_console(self, data):
        # The end of the session comes as a dictionary.
        if not isinstance(data, dict):
            self.sol.send_data(b'<' + self.name.encode() + b' reads ' + bytes(data) + b'>')

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
        body = {'power': power}
        if config.get('boots'):
            body['boot'] = self.boot
            # Set for once.
            self.boot = 'default' if power == 'on' else self.boot
        self.call('POST', '/power', body)
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

    def handle_raw_request(self, request, session):
        # Storage: the inventory of the machine, unless the controller has none.
        if request['netfn'] == 0x0a and request['command'] in (0x10, 0x11) and not self.name.startswith('bare'):
            fru, data = fru_of(self.name), request['data']
            if data[0] != 0:
                return session.send_ipmi_response(code=0xcb)
            if request['command'] == 0x10:
                return session.send_ipmi_response(data=[len(fru) & 0xff, len(fru) >> 8, 0])
            start = data[1] + 256 * data[2]
            part = list(fru[start:start + data[3]])
            return session.send_ipmi_response(data=[len(part)] + part)
        return super().handle_raw_request(request, session)

    def get_boot_device(self):
        return self.boot

    def set_boot_device(self, device):
        self.note('boot ' + str(device))
        self.boot = device


controllers = [Controller(**one) for one in config['controllers']]
print('ready', flush=True)
controllers[0].listen()
