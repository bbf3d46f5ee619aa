# SPDX-License-Identifier: Apache-2.0
"""What commands read: standard input of a script stays the script's, and files are the host's."""

import contextlib
import json
import os

import pytest

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
