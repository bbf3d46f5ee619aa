# SPDX-License-Identifier: Apache-2.0
"""Odd input, odd rows, and a Redis that is away: one line, never a traceback."""

import json
import os

import pytest
from click.testing import CliRunner

ODD = ['', ' ', '|', 'a|b', 'Ethernet0 ', 'ethernet0', 'Ethernet0|', '-1', '--', '-', '%s', '{}', '*', '[a', '\\', "'", '"', '$(id)', '../..',
       '9' * 5000, 'x' * 5000, '\n', 'a\nb', '\x00', '\x1b[31m', '\x7f', '\u00e4\u00df', '\u200b', '\u202e', '\u0665', '10.0.0.1/8',
       '10.0.0.0/33', '::ffff:1.2.3.4', '1.2.3', '0x10', '1e3', '1.0', '+5', '007', 'nan', 'None', 'global', 'true', 'TRUE']


def invoke(switch, *words):
    """Runs a command, and returns its exit code and what it prints."""
    result = CliRunner().invoke(switch.commands[words[0]], list(words[1:]), prog_name=words[0], color=True)  # as on a terminal
    assert result.exception is None or isinstance(result.exception, SystemExit), (words, repr(result.exception))
    return result.exit_code, result.output


def commands(group, words=()):
    """All commands below a group: their words, and the command."""
    for name, command in group.commands.items():
        if hasattr(command, 'commands'):
            yield from commands(command, words + (name,))
        else:
            yield words + (name,), command


def everything(switch):
    """What the databases hold."""
    return {(number, name): switch.row(name, number) for number in (2, 4, 6) for name in switch.db(number).keys()}


@pytest.mark.parametrize('name', ['config', 'show', 'clear'])
@pytest.mark.parametrize('odd', ODD, ids=ascii)
def test_odd_words(switch, name, odd):
    before = everything(switch)
    for words, command in commands(switch.commands[name]):
        there = set(switch.db(4).keys())
        arguments = [p for p in command.params if p.param_type_name == 'argument']
        lines = [[odd] * n for n in range(1, len(arguments) + 2)]
        for option in (p for p in command.params if p.param_type_name == 'option' and not p.is_flag):
            lines.append(['Ethernet0'] * sum(a.required for a in arguments) + [option.opts[0], odd])
        for line in lines:
            code, text = invoke(switch, name, *words, *line)
            assert 'Traceback' not in text
            if code == 1:
                assert text.startswith('Error: ') and text.endswith('\n')
        for key in set(switch.db(4).keys()) - there:  # it was good for something: then it is undone
            assert name == 'config'
            switch.db(4).delete(key)
    assert everything(switch) == before


def test_odd_rows(switch):
    """What others have written into our tables is shown, or left out."""
    for number, tables in ((4, ['SLUICE', 'SLUICE_PORT', 'SLUICE_FLOW_LABEL']), (6, ['SLUICE_STATE', 'SLUICE_CAPABILITY', 'SLUICE_CONFIG_ERROR', 'SLUICE_FLOW'])):
        for table in tables:
            for key in ('global', 'switch', 'a|b|c', '', '\u00e4', '\x1b[31m'):
                switch.put(number, {table + '|' + key: {'state': 'x', 'bytes': 'many', 'dest_qp': '', 'flow_label': 'enabled', 'role': '\x1b[2J', 'reason': 'a\nb'}})
    for name in ('SLUICE_STATS:global', 'SLUICE_IPFIX_STATS:gold', 'SLUICE_IPFIX_STATS:'):
        switch.put(2, {name: {'label_written': 'many', 'records': '-1', 'cpu_roce': '', 'read_time': 'x'}})
    switch.db(4).set('SLUICE_PORT|text', 'no row')
    switch.db(6).rpush('SLUICE_FLOW|list', 'no row')
    for name in ('show', 'clear'):
        for words, command in commands(switch.commands[name]):
            code, text = invoke(switch, name, *words)
            assert code in (0, 1) and 'Traceback' not in text and '\x1b' not in text, (words, text)
            if name == 'show':
                code, text = invoke(switch, name, *words, '--json')
                assert code == 1 or json.loads(text) is not None


def test_wide_values_stay_in_their_column(switch):
    switch.put(4, {'SLUICE_IPFIX_COLLECTOR|' + 'x' * 64: {'address': '2001:db8:1111:2222:3333:4444:5555:6666', 'ca_file': '/' + 'y' * 300},
                   'SLUICE_PORT|Ethernet0': {'role': 'edge'}})
    lines = switch.run('show sluice config').splitlines()
    column = lines[0].index('In force')
    assert [line[column:] for line in lines[2:]] == ['yes', '', 'yes']


@pytest.mark.parametrize('name', ['config', 'show', 'clear'])
def test_redis_is_away(switch, monkeypatch, tmp_path, name):
    monkeypatch.setenv('SLUICE_TEST_REDIS', str(tmp_path / 'none.sock'))
    for words, command in commands(switch.commands[name]):
        by_prefix = {'ppfc-gateway', 'ppfc-peer', 'rate-advice-host'} & set(words)
        keys = ['10.0.0.0/8' if by_prefix else 'Ethernet0' for p in command.params if p.param_type_name == 'argument' and p.required]
        code, text = invoke(switch, name, *words, *keys)
        assert code == 1 and text.startswith('Error: ') and 'none.sock' in text and text.count('\n') == 1, text


@pytest.mark.skipif(os.geteuid() == 0, reason='root may open every socket')
def test_redis_is_closed_to_the_user(switch, monkeypatch, tmp_path):
    (tmp_path / 'closed').mkdir(0)
    monkeypatch.setenv('SLUICE_TEST_REDIS', str(tmp_path / 'closed' / 'redis.sock'))
    code, text = invoke(switch, 'show', 'sluice', 'status')
    assert code == 1 and text.startswith('Error: ') and 'Permission denied' in text


def test_examples_work(switch):
    for words, command in commands(switch.commands['config']):  # set comes before del
        text = invoke(switch, 'config', *words, '--help')[1]
        line = text.partition('Example: ')[2].split()
        assert line[:len(words) + 1] == ['config', *words]
        assert invoke(switch, *line) == (0, '')
    assert switch.db(4).keys('SLUICE*') == []
    shown = 0
    for name in 'show', 'clear':
        for words, command in commands(switch.commands[name]):
            text = invoke(switch, name, *words, '--help')[1]
            if 'Example: ' in text:
                line = ' '.join(text.partition('Example: ')[2].splitlines()).split()
                assert line[:len(words) + 1] == [name, *words]
                code, text = invoke(switch, *line)
                assert code == 0, text
                shown += 1
    assert shown > 0


@pytest.mark.parametrize('name', ['config', 'show', 'clear'])
def test_every_command_has_help(switch, name):
    for words, command in commands(switch.commands[name]):
        code, text = invoke(switch, name, *words, '--help')
        assert code == 0 and command.help and all(p.help for p in command.params if p.param_type_name == 'option'), words
