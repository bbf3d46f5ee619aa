# SPDX-License-Identifier: Apache-2.0
"""What commands read: standard input of a script stays the script's, and files are the host's."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

from conftest import STANDINS

PORT = 'SLUICE_PORT|Ethernet0'


@contextlib.contextmanager
def standard_input(text):
    """A pipe with a text as standard input, also of programs that are run."""
    reader, writer = os.pipe()
    os.write(writer, text)
    os.close(writer)
    kept = os.dup(0)
    os.dup2(reader, 0)
    os.close(reader)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


@pytest.mark.parametrize('line', ['show sluice status', 'show sluice --help', 'config sluice port set Ethernet0 --role edge', 'config sluice diff', 'config sluice rollback --list',
                                  'config sluice load none.json', 'config sluice port set', 'clear sluice counters'])
@pytest.mark.parametrize('down', [False, True])
def test_the_input_of_a_script_is_not_read(switch, monkeypatch, line, down):
    if down:
        monkeypatch.setenv('SLUICE_TEST_DOWN', 'yes')
    with standard_input(b'Ethernet4\nEthernet8\n'):
        switch.invoke(*line.split())
        assert os.read(0, 100) == b'Ethernet4\nEthernet8\n'


def test_completion_does_not_read_the_input(switch):
    with standard_input(b'Ethernet4\n'):
        assert switch.modules['config'].complete(['port', 'set'], 'Ethernet4')
        assert os.read(0, 100) == b'Ethernet4\n'


def test_a_dash_is_standard_input(switch):
    with standard_input(json.dumps({'SLUICE_PORT': {'Ethernet0': {'role': 'edge'}}}).encode()):
        switch.run('config sluice load -')
    assert switch.row(PORT) == {'role': 'edge'}


def test_files_are_those_of_the_host(switch, tmp_path):
    file = tmp_path / 'host_only.json'
    file.write_text('{"SLUICE_PORT": {"Ethernet0": {"role": "fabric"}}}', encoding='utf-8')
    code, text = switch.invoke('config', 'sluice', 'load', str(file))
    assert code == 0, text
    assert switch.row(PORT) == {'role': 'fabric'}
    with open(os.path.join(os.environ['SLUICE_TEST_CACHE'], 'input'), encoding='utf-8') as f:
        assert f.read() == file.read_text(encoding='utf-8')  # by standard input: the container does not see it
    assert switch.run('config sluice diff {}'.format(file)) == 'No difference from {}.\n'.format(file)
    file.write_text('{"SLUICE_PORT": {"Ethernet0": {"role": "none"}}}', encoding='utf-8')
    code, text = switch.invoke('config', 'sluice', 'load', '--dry-run', str(file))
    assert code == 1 and 'role' in text, text
    file.write_text('{', encoding='utf-8')
    code, text = switch.invoke('config', 'sluice', 'load', str(file))
    assert code == 1 and 'host_only.json' in text, text


def test_a_folder_or_a_file_without_rights_is_named(switch, tmp_path):
    code, text = switch.invoke('config', 'sluice', 'load', str(tmp_path))
    assert code == 1 and text == 'Error: {}: Is a directory\n'.format(tmp_path), text


def commands(switch, verb, *words):
    """The commands of a plugin, as its help lists them, each a list of words."""
    text = switch.invoke(verb, 'sluice', *words, '--help')[1]
    below = text.partition('Available Commands:\n')[2].partition('\n\n')[0]
    if not below:
        yield [verb, 'sluice', *words]
    for line in below.splitlines():
        if line.split()[0] != 'help':
            yield from commands(switch, verb, *words, line.split()[0])


def every_command(switch):
    return [words for verb in ('show', 'config', 'clear') for words in commands(switch, verb)]


def test_a_dash_that_is_no_file_is_not_standard_input(switch):
    for words in every_command(switch):
        if words[2:] in (['load'], ['diff']):
            continue
        with standard_input(b'rest'):
            switch.invoke(*words, '-')
            assert os.read(0, 100) == b'rest', words


# The three commands, and a program of a script that reads nothing else than its standard input.
SHELL = """
for verb in show config clear; do eval "$verb() { {python} {face} $verb \\"\\$@\\"; }"; done
"""

FACE = """
import importlib.util
import sys
sys.path[:0] = ['{standins}']
import click
spec = importlib.util.spec_from_file_location('sluice', '{cache}/' + sys.argv[1] + '/plugins/sluice.py')
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
top = click.Group(sys.argv[1])
module.register(top)
top.main(sys.argv[2:], prog_name=sys.argv[1])
"""


def test_no_command_eats_the_input_of_a_script(switch, tmp_path):
    """Each command in a read loop, at the end of a pipe, and in a script that bash reads from its standard input."""
    lines = [' '.join(words) for words in every_command(switch)]
    assert {'config sluice port set', 'config sluice load', 'show sluice flows', 'clear sluice counters'} < set(lines)
    face = tmp_path / 'face.py'
    face.write_text(FACE.replace('{standins}', STANDINS).replace('{cache}', os.environ['SLUICE_TEST_CACHE']), encoding='utf-8')
    shell = SHELL.replace('{python}', sys.executable).replace('{face}', str(face))

    def bash(script, text, *args):
        done = subprocess.run(['bash', *args] if script is None else ['bash', '-c', script], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.stdout.splitlines()

    quiet = ' >/dev/null 2>&1'
    loop = bash(shell + 'while read -r line; do $line' + quiet + '; echo "$line"; done', '\n'.join(lines) + '\n')
    assert loop == lines
    pipe = bash(shell + '\n'.join('echo \'{0}\' | {{ {0}{1}; cat; }}'.format(line, quiet) for line in lines), '')
    assert pipe == lines
    script = bash(None, shell + ''.join('{0}{1}\necho \'{0}\'\n'.format(line, quiet) for line in lines), '-s')
    assert script == lines
