# SPDX-License-Identifier: Apache-2.0
"""A real Redis for each session, empty for each test; the three plugins, loaded
from their files as SONiC's commands load them.
"""

import contextlib
import ctypes
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import click
import pytest
import redis

HERE = os.path.dirname(os.path.abspath(__file__))
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1
PATIENCE = 30  # seconds, for what takes milliseconds on an idle machine

STANDINS = os.path.join(HERE, 'standins')
sys.path.insert(0, STANDINS)
os.environ['PATH'] = STANDINS + os.pathsep + os.environ['PATH']  # its docker runs the program here
os.environ.setdefault('SLUICE_TEST_PROGRAM', os.path.join(HERE, '../../../bin/sluice'))


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


@contextlib.contextmanager
def printed():
    """What is written to the standard output and error, by programs that are run, too."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1), os.dup(2)
        sys.stdout.flush()
        sys.stderr.flush()
        text = []
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            out, err, sys.stdout, sys.stderr = sys.stdout, sys.stderr, os.fdopen(os.dup(1), 'w'), os.fdopen(os.dup(2), 'w')
            try:
                yield text
            finally:
                sys.stdout.close()
                sys.stderr.close()
                sys.stdout, sys.stderr = out, err
        finally:
            for number, old in zip((1, 2), kept):
                os.dup2(old, number)
                os.close(old)
        file.seek(0)
        text.append(file.read().decode(errors='replace'))


class Switch:
    """A switch with ports, its databases and its three commands."""

    def __init__(self, socket, cache):
        self.socket = socket
        os.environ['SLUICE_TEST_CACHE'] = cache
        for asic in range(-1, 2):  # the only one, or several
            ids = {'COUNTERS_DB': 2, 'CONFIG_DB': 4, 'STATE_DB': 6}
            databases = {name: {'id': number + 8 * (asic + 1), 'separator': ':' if name == 'COUNTERS_DB' else '|', 'instance': 'redis'}
                         for name, number in ids.items()}
            with open(os.path.join(cache, 'database_config{}.json'.format(asic if asic >= 0 else '')), 'w', encoding='utf-8') as f:
                json.dump({'INSTANCES': {'redis': {'unix_socket_path': socket}}, 'DATABASES': databases}, f)
        self.modules = {name: self._load(cache, name) for name in ('show', 'config', 'clear')}
        self.commands = {name: self._register(name, module) for name, module in self.modules.items()}

    @staticmethod
    def _load(root, name):
        """Loads the plugin from where SONiC installs it."""
        path = os.path.join(root, name, 'plugins', 'sluice.py')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(os.path.join(HERE, '..', 'sluice.py'), path)
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

    def invoke(self, *words):
        """Runs a command, and returns its exit code and what it prints."""
        with printed() as text:
            try:
                self.commands[words[0]].main(list(words[1:]), prog_name=words[0])
                code = 0
            except SystemExit as end:
                code = end.code or 0
        return code, text[0]

    def run(self, line, code=0):
        """Runs a command line and returns what it prints."""
        got, text = self.invoke(*line.split())
        assert got == code, text
        return text

    def put(self, number, rows):
        """Writes rows by name into a database."""
        for name, row in rows.items():
            self.db(number).hset(name, mapping=row or {'NULL': 'NULL'})

    def row(self, name, number=4):
        return self.db(number).hgetall(name)


@pytest.fixture
def switch(server, tmp_path):
    redis.Redis(unix_socket_path=server).flushall()
    one = Switch(server, str(tmp_path))
    one.put(4, {'PORT|Ethernet{}'.format(4 * i): {'lanes': str(4 * i), 'admin_status': 'up'} for i in range(12)})
    one.put(4, {'PORTCHANNEL|PortChannel1': {'mtu': '9100'}})
    return one
