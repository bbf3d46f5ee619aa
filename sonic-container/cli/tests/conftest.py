# SPDX-License-Identifier: Apache-2.0
"""A real Redis for each session, empty for each test; the three plugins, loaded
from their files as SONiC's commands load them.
"""

import ctypes
import importlib.util
import os
import signal
import subprocess
import sys
import time

import click
import pytest
import redis
from click.testing import CliRunner

HERE = os.path.dirname(os.path.abspath(__file__))
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1
PATIENCE = 30  # seconds, for what takes milliseconds on an idle machine

sys.path.insert(0, os.path.join(HERE, 'standins'))


@pytest.fixture(scope='session')
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp('redis')
    socket = str(folder / 'redis.sock')
    process = subprocess.Popen(
        ['redis-server', '--port', '0', '--unixsocket', socket, '--dir', str(folder), '--save', '',
         '--databases', '32', '--notify-keyspace-events', 'KEA'], stdout=subprocess.DEVNULL,
        preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))  # it ends with the tests, also when they are killed
    os.environ['SLUICE_TEST_REDIS'] = socket
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            redis.Redis(unix_socket_path=socket).ping()
            break
        except redis.ConnectionError:
            assert process.poll() is None, 'redis-server ended'
            assert time.monotonic() < deadline, 'redis-server does not answer'
            time.sleep(0.01)
    yield socket
    process.terminate()
    process.wait()


class Switch:
    """A switch with ports, its databases and its three commands."""

    def __init__(self, socket):
        self.socket = socket
        self.modules = {name: self._load(name) for name in ('show', 'config', 'clear')}
        self.commands = {name: self._register(name, module) for name, module in self.modules.items()}

    @staticmethod
    def _load(name):
        path = os.path.join(HERE, '..', name, 'plugins', 'sluice.py')
        spec = importlib.util.spec_from_file_location(name + '_sluice', path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @staticmethod
    def _register(name, module):
        top = click.Group(name)
        module.register(top)
        return top

    def db(self, number):
        return redis.Redis(unix_socket_path=self.socket, db=number, decode_responses=True)

    def run(self, line, code=0):
        """Runs a command line and returns what it prints."""
        words = line.split()
        result = CliRunner().invoke(self.commands[words[0]], words[1:], prog_name=words[0])
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
        assert result.exit_code == code, result.output
        return result.output

    def put(self, number, rows):
        """Writes rows by name into a database."""
        for name, row in rows.items():
            self.db(number).hset(name, mapping=row or {'NULL': 'NULL'})

    def row(self, name, number=4):
        return self.db(number).hgetall(name)


@pytest.fixture
def switch(server, tmp_path, monkeypatch):
    monkeypatch.setenv('SLUICE_TEST_CACHE', str(tmp_path))
    redis.Redis(unix_socket_path=server).flushall()
    one = Switch(server)
    one.put(4, {'PORT|Ethernet{}'.format(4 * i): {'lanes': str(4 * i), 'admin_status': 'up'} for i in range(12)})
    one.put(4, {'PORTCHANNEL|PortChannel1': {'mtu': '9100'}})
    return one
