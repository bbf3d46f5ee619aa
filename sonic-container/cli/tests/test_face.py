# SPDX-License-Identifier: Apache-2.0
"""The plugins as the face of the program: its words, its texts, its exit codes."""

import os

import pytest
from click.shell_completion import ShellComplete

ODD = ['', ' ', '|', '-1', '--', '-', '%s', '{}', '*', '[a', '\\', "'", '"', '$(id)', 'x' * 5000, '\n', '\x1b[31m', '\u00e4\u00df', '\u202e']


def called(switch):
    """The command lines of docker so far."""
    with open(os.path.join(os.environ['SLUICE_TEST_CACHE'], 'docker'), encoding='utf-8') as f:
        return f.read().splitlines()


def test_verb_is_the_command_that_loads_the_plugin(switch):
    assert {name: module.VERB for name, module in switch.modules.items()} == {name: name for name in ('show', 'config', 'clear')}


@pytest.mark.parametrize('odd', ODD, ids=ascii)
def test_words_reach_the_program_as_they_are(switch, odd):
    code, text = switch.invoke('config', 'sluice', 'port', 'set', '--role', odd, '--', 'Ethernet0')
    where = 'Error: --role: ' if odd else 'Error: SLUICE_PORT|Ethernet0: role'
    assert code == 1 and where in text and ' must be ' in text and '\x1b' not in text, text
    assert switch.db(4).keys('SLUICE*') == []
    code, text = switch.invoke('config', 'sluice', 'ppfc-peer', 'set', '--', odd)
    assert code == 1 and text.startswith('Error: SLUICE_PPFC_PEER') and '\x1b' not in text, text


def test_tables_and_completion_are_the_programs(switch):
    def after(line, begun=''):
        words = line.split()
        shell = ShellComplete(switch.commands[words[0]], {}, words[0], '_COMPLETE')
        return [item.value for item in shell.get_completions(words[1:], begun)]

    assert after('config sluice flow-label set --algorithm') == ['draft-literal', 'crc32']
    assert after('config sluice port set', 'Ethernet4') == ['Ethernet4', 'Ethernet40', 'Ethernet44']
    assert after('config sluice port set Ethernet0', '--r') == ['--role']
    assert after('config sluice', 'ro') == ['rollback']
    assert 'capability' in after('show sluice')
    assert after('clear sluice') == ['counters', 'help']


def test_a_container_that_is_down(switch, monkeypatch):
    monkeypatch.setenv('SLUICE_TEST_DOWN', 'yes')
    monkeypatch.setenv('SUDO_UID', '1000')
    switch.run('config sluice port set Ethernet0 --role edge')
    assert switch.row('SLUICE_PORT|Ethernet0') == {'role': 'edge'}
    inspected, line = called(switch)
    assert inspected == 'inspect --format {{.State.Running}} sluice'
    assert line.startswith('run --rm --pull never --network none -v /var/run/redis:/var/run/redis -v /host/sluice:/var/lib/sluice -e SLUICE_SONIC_VERB=config ')
    assert line.endswith(' docker-sluice start.sh sluice port set Ethernet0 --role edge') and 'cache-1000' in line


@pytest.mark.parametrize('packages, image', [
    ('{"sluice": {"image-id": "sha256:1234", "repository": "registry.example/docker-sluice"}}', 'sha256:1234'),
    ('{"sluice": {"image-id": null}}', 'docker-sluice'), ('{}', 'docker-sluice'), ('{', 'docker-sluice'), (None, 'docker-sluice'),
])
def test_a_container_that_is_down_is_of_the_image_that_was_installed(switch, monkeypatch, tmp_path, packages, image):
    monkeypatch.setenv('SLUICE_TEST_DOWN', 'yes')
    if packages is not None:
        (tmp_path / 'packages.json').write_text(packages)
    monkeypatch.setattr(switch.modules['show'], 'PACKAGES', str(tmp_path / 'packages.json'))
    switch.run('show sluice config')
    line = called(switch)[-1]
    assert line.startswith('run --rm --pull never ') and ' {} start.sh sluice config'.format(image) in line


def test_the_container_of_the_asic(switch, monkeypatch):
    monkeypatch.setenv('SLUICE_TEST_ASICS', '2')
    switch.put(4 + 16, {'PORT|Ethernet0': {'lanes': '1'}})
    for line in ('-n asic1 port set Ethernet0 --role edge', 'port set Ethernet0 --role edge --namespace=asic1', 'port set --role edge -n asic1 -- Ethernet0'):
        switch.run('config sluice ' + line)
    assert [line.split(' start.sh ')[0].split()[-1] for line in called(switch) if line.startswith('exec ')] == ['sluice1'] * 3
    assert switch.row('SLUICE_PORT|Ethernet0', 4 + 16) == {'role': 'edge'}
    for line in ('port set Ethernet0 --role edge', 'port set Ethernet0 --role edge -n', 'port set --role edge -- Ethernet0 -n asic1'):
        assert switch.run('config sluice ' + line, code=1) == 'Error: -n must be one of asic0, asic1\n'


@pytest.mark.parametrize('line', ['show sluice config', 'config sluice port set Ethernet0', 'clear sluice counters'])
def test_redis_is_away(switch, line):
    with open(os.path.join(os.environ['SLUICE_TEST_CACHE'], 'database_config.json'), 'r+', encoding='utf-8') as f:
        text = f.read().replace(switch.socket, '/none.sock')
        f.seek(0)
        f.truncate()
        f.write(text)
    text = switch.run(line, code=1)
    assert text.startswith('Error: ') and 'none.sock' in text and text.count('\n') == 1


def test_docker_is_away(switch, monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')
    assert switch.run('show sluice status', code=1) == 'Error: run docker: No such file or directory\n'


def test_help_names_the_commands_of_the_switch(switch):
    for verb, name in (('show', 'show sluice'), ('config', 'config sluice'), ('clear', 'sonic-clear sluice')):
        text = switch.run(verb + ' sluice --help')
        assert '  {} [command]'.format(name) in text and 'sluice {} '.format(verb) not in text
