# SPDX-License-Identifier: Apache-2.0
"""show sluice and clear sluice, against a real Redis."""

import json
import os
import re
from datetime import datetime, timedelta, timezone

import pytest

STATE = {'state': 'degraded', 'driver': 'sai', 'version': '0.1', 'flow_label': 'active', 'flow_label_method': 'rewrite',
         'objects': '7', 'flows': '2', 'config_errors': '1', 'since': '2026-11-21T10:00:00Z',
         'warnings': 'no edge port; ECMP does not hash the flow label'}
ERROR = {'reason': 'must be one of edge, fabric, border', 'field': 'role', 'value': 'core', 'time': '2026-11-21T10:00:01Z'}
CAPABILITY = {'flow_label_method': 'rewrite', 'flow_label_state': 'active', 'flow_label_reason': 'compute: not supported',
              'flow_label_ipv4': 'not spread: IPv4 has no flow label'}
STATS = {'label_written': '900', 'label_skipped': '100', 'label_skipped_percent': '10.0', 'cpu_roce': '50', 'cpu_flows': '2'}

STREAMS = {'stream_id_flows': '0', 'stream_id_waiting': '2', 'stream_id_conflicts': '0', 'stream_id_allocated': '9',
           'stream_id_changed': '1', 'stream_id_failed': '0', 'stream_id_leases_lost': '1'}


def flow(i, octets):
    row = {'src': '2001:db8::{}'.format(i), 'dst': '2001:db8::ff', 'dest_qp': str(16 + i), 'flow_label': str(i),
           'packets': str(octets // 100), 'bytes': str(octets)}
    return row if i == 3 else dict(row, stream_id=str(1000 + i))  # the third has none


def typed(row, *texts):
    """A row as JSON has it: numbers are numbers, but for fields that are texts."""
    return {name: json.loads(value) if name not in texts and re.fullmatch(r'[0-9]+(\.[0-9]+)?', value) else value
            for name, value in row.items()}


@pytest.fixture
def running(switch):
    switch.put(6, {'SLUICE_STATE|global': STATE, 'SLUICE_CONFIG_ERROR|SLUICE_PORT|Ethernet4': ERROR,
                   'SLUICE_CAPABILITY|switch': CAPABILITY})
    switch.put(6, {'SLUICE_FLOW|f{}'.format(i): flow(i, octets) for i, octets in ((1, 900), (2, 10000), (3, 2000))})
    switch.put(2, {'SLUICE_STATS:global': STATS})
    switch.put(4, {'SLUICE_FLOW_LABEL|global': {'admin_state': 'enabled', 'algorithm': 'crc32'},
                   'SLUICE_PORT|Ethernet0': {'role': 'edge'}, 'SLUICE_PORT|Ethernet4': {'role': 'core'},
                   'SLUICE_PORT|Ethernet8': {'role': 'edge', 'flow_label': 'disabled'},
                   'SLUICE_PORT|Ethernet12': {'flow_label': 'enabled'}, 'SLUICE_PPFC_PEER|::/0': {},
                   'SLUICEGATE|global': {'x': 'y'}})
    return switch


def test_status(running):
    assert running.run('show sluice status').splitlines() == [
        'state       degraded',
        'flow label  active (rewrite)',
        'driver      sai',
        'objects     7',
        'flows       2',
        'version     0.1',
        'since       2026-11-21T10:00:00Z',
        'warning     no edge port',
        'warning     ECMP does not hash the flow label',
        '',
        'Rows that are not in force:',
        '',
        'Table        Key        Field    Value    Reason',
        '-----------  ---------  -------  -------  -----------------------------------',
        'SLUICE_PORT  Ethernet4  role     core     must be one of edge, fabric, border',
    ]
    assert json.loads(running.run('show sluice status --json')) == {
        'state': typed(STATE, 'version'), 'config_errors': [dict(ERROR, table='SLUICE_PORT', key='Ethernet4')]}


HOLD = {'message': 'pfcm', 'from': 'fe80::2', 'port': 'Ethernet0', 'queue': '3', 'stream_id': '7', 'src': '2001:db8::1', 'dst': '2001:db8::2',
        'state': 'held', 'action': 'pause', 'since': '2026-11-21T10:00:00Z', 'until': '2026-11-21T10:00:00.04Z', 'packets': '5', 'waiting_bytes': '4096', 'dropped': '0'}


def test_placement(running):
    assert running.run('show sluice placement') == 'placement  disabled\n'
    running.put(6, {'SLUICE_STATE|global': {'placement': 'failed', 'placement_reason': 'no \x1b[31m method'}})
    assert running.run('show sluice placement').splitlines()[1] == 'reason     no \N{MIDDLE DOT}[31m method'
    running.put(6, {'SLUICE_STATE|global': {'placement': 'active', 'placement_reason': ''}, 'SLUICE_CAPABILITY|switch': {'placement_method': 'entries'}})
    assert running.run('show sluice placement').splitlines()[-1] == 'No flow that is placed goes to a group of several next hops.'
    group = {'state': 'degraded', 'reason': 'the seed', 'model': 'linux', 'flows': '64', 'worst_over_mean': '1.004',
             'hash_worst_over_mean': '1.5', 'floor': '1.0', 'moves': '11', 'waiting': '0', 'model_error_percent': '0.0',
             'member_order': 'kernel', 'member_order_reason': 'no group in ASIC_DB'}
    member = {'weight': '1.0', 'flows': '32', 'predicted_rate': '125000', 'hash_rate': '250000'}
    running.put(6, {'SLUICE_PLACEMENT_GROUP|Ethernet4,Ethernet8': group, 'SLUICE_PLACEMENT_MEMBER|Ethernet4,Ethernet8|Ethernet4': member})
    lines = running.run('show sluice placement').splitlines()
    assert [line.split() for line in lines[:2]] == [['placement', 'active'], ['method', 'entries']]
    assert lines[5].split() == ['Ethernet4,Ethernet8', 'degraded', 'linux', '64', '1.004', '1.5', '1.0', '11', '0', '0.0']
    assert lines[6:8] == ['Ethernet4,Ethernet8: the seed', 'Ethernet4,Ethernet8: members are in the order of the kernel: no group in ASIC_DB']
    assert lines[-1].split() == ['Ethernet4,Ethernet8', 'Ethernet4', '1.0', '32', '1.0', '-', '2.0']
    running.put(6, {'SLUICE_STATE|global': {'placement': 'degraded', 'placement_reason': 'next hops Ethernet4,Ethernet8: the seed'}})
    lines = running.run('show sluice placement').splitlines()
    assert [line.split(None, 1) for line in lines[:3]] == [['placement', 'degraded'], ['method', 'entries'], ['reason', 'next hops Ethernet4,Ethernet8: the seed']]
    fabric = {'scope': 'local', 'reason': 'no lease in etcd', 'leaf': 'leaf1', 'planner': 'leaf\x1b2', 'plan': '7', 'leaves': '4', 'rows_rejected': '0'}
    running.put(6, {'SLUICE_PLACEMENT_FABRIC|global': fabric})
    shown = json.loads(running.run('show sluice placement --json'))
    assert (shown['groups'], shown['members'], shown['placement'], shown['fabric']['plan']) == (
        [typed(dict(group, name='Ethernet4,Ethernet8'))], [typed(dict(member, group='Ethernet4,Ethernet8', name='Ethernet4'))], 'degraded', 7)
    lines = dict(line.split('  ', 1) for line in running.run('show sluice placement').splitlines()[:9])
    assert lines['scope'].strip() == 'local' and lines['plan'].strip() == '7' and '\x1b' not in lines['planner']


def test_holds(running):
    assert running.run('show sluice holds') == 'Nothing is held: PFCM is disabled.\n'
    running.put(6, {'SLUICE_STATE|global': {'pfcm': 'failed', 'pfcm_reason': 'no\x1b[31m extension'}})
    assert running.run('show sluice holds') == 'Nothing is held: PFCM is failed, no\N{MIDDLE DOT}[31m extension.\n'
    running.put(6, {'SLUICE_STATE|global': {'pfcm': 'active'}})
    assert running.run('show sluice holds') == 'Nothing is held.\n'
    slow = dict(HOLD, action='reduce', reduction='30', state='measuring')
    del slow['packets']
    running.put(6, {'SLUICE_HOLD|a': HOLD, 'SLUICE_HOLD|b': slow})
    lines = running.run('show sluice holds').splitlines()
    assert lines[2].split() == ['fe80::2', 'Ethernet0', '3', '7', '2001:db8::1', '2001:db8::2', 'held', 'pause',
                                '2026-11-21T10:00:00Z', '2026-11-21T10:00:00.04Z', '5', '4096', '0']
    assert ' measuring  reduce 30 % ' in lines[3] and '  -  ' in lines[3]
    assert json.loads(running.run('show sluice holds --json')) == [typed(dict(HOLD, id='a')), typed(dict(slow, id='b'))]


def test_congested_flows(running):
    assert running.run('show sluice flows --congested') == 'No flow is congested or held.\n'
    full = dict(flow(1, 900), state='congested', queue='3', queue_bytes='150000', method='sampled', confidence_percent='87', egress_port='Ethernet8', ingress_port='Ethernet0', notified_neighbor='fe80::1')
    running.put(6, {'SLUICE_FLOW|f1': full, 'SLUICE_FLOW|f2': {'state': 'held'}, 'SLUICE_FLOW|f3': {'state': 'normal'}})
    lines = running.run('show sluice flows --congested').splitlines()
    assert len(lines) == 4
    assert lines[2].split() == ['2001:db8::1', '2001:db8::ff', '0x000011', 'congested', 'Ethernet8', '3', '150000', 'sampled,', '87%', 'Ethernet0', '1001', 'fe80::1', '-']
    assert [row['state'] for row in json.loads(running.run('show sluice flows --congested --json'))] == ['congested', 'held']
    assert len(running.run('show sluice flows --congested --top 1').splitlines()) == 5


def test_notifications(running):
    running.put(6, {'SLUICE_STATE|global': {'pfcm': 'active', 'holds': '2'}})
    running.put(2, {'SLUICE_NOTIFY_STATS:pfcm': {'sent': '5', 'dropped_hop_limit': '3', 'watchdog': '0', 'reaction_us_n': '5', 'reaction_us_p50': '96.0',
                                                 'reaction_us_p99': '211.0', 'reaction_us_p999': '300.0', 'reaction_us_max': '301.5', 'enforce_us_n': '0'},
                    'SLUICE_NOTIFY_STATS:pfc': {'sent': '0'}})
    assert running.run('show sluice notifications').splitlines() == [
        'pfcm         active',
        'ppfc         disabled',
        'rate-advice  disabled',
        'holds        2',
        '',
        'Time (us)      n    p50    p99    p99.9    max',
        '-------------  ---  -----  -----  -------  -----',
        'pfcm reaction  5    96.0   211.0  300.0    301.5',
        '',
        'Counter            pfc    pfcm',
        '-----------------  -----  ------',
        'dropped hop limit         3',
        'sent               0      5',
    ]
    assert 'watchdog' in running.run('show sluice notifications --all')
    assert json.loads(running.run('show sluice notifications --json'))['pfcm']['sent'] == 5


def test_capability(running):
    assert running.run('show sluice capability').splitlines() == [
        'Need        Method    State    Reason',
        '----------  --------  -------  ----------------------',
        'flow label  rewrite   active   compute: not supported',
        '',
        'RoCEv2 over IPv4: not spread: IPv4 has no flow label',
    ]
    assert json.loads(running.run('show sluice capability --json')) == CAPABILITY


def test_capability_has_every_need(running):
    running.put(6, {'SLUICE_CAPABILITY|switch': dict(CAPABILITY, export_method='none', export_state='none',
                                                     export_reason='the switch cannot mirror samples', hold_method='exact')})
    assert running.run('show sluice capability').splitlines()[2:5] == [
        'export      none      none     the switch cannot mirror samples',
        'flow label  rewrite   active   compute: not supported',
        'hold        exact',
    ]


def test_flow_label(running):
    assert running.run('show sluice flow-label').splitlines() == [
        'flow label   active',
        'method       rewrite',
        'admin state  enabled',
        'algorithm    crc32',
        'ports        Ethernet0, Ethernet12',
        '',
        'Counter        Value',
        '-------------  -------',
        'cpu roce       50',
        'label skipped  100',
        'label written  900',
    ]
    assert json.loads(running.run('show sluice flow-label --json')) == {
        'flow_label': 'active', 'method': 'rewrite', 'config': {'admin_state': 'enabled', 'algorithm': 'crc32'},
        'ports': ['Ethernet0', 'Ethernet12'], 'counters': {'label_written': 900, 'label_skipped': 100, 'cpu_roce': 50}}


def test_flow_label_where_the_cpu_sees_nothing(running):
    running.put(2, {'SLUICE_STATS:global': {'cpu_roce': '0'}})
    assert 'cpu' not in running.run('show sluice flow-label')
    assert 'cpu_roce' in running.run('show sluice flow-label --json')
    running.db(2).delete('SLUICE_STATS:global')
    assert 'Counter' not in running.run('show sluice flow-label')


def test_stream_ids(running):
    running.put(4, {'SLUICE|global': {'stream_id_scope': 'global', 'etcd_endpoints@': 'http://a:1,http://b:1', 'cpu_rate': '5'}})
    running.put(6, {'SLUICE_STATE|global': {'stream_ids': 'none', 'warnings': 'no edge port; stream ids: no lease in etcd'}})
    running.put(2, {'SLUICE_STATS:global': STREAMS})
    assert running.run('show sluice stream-ids').splitlines() == [
        'stream ids       none',
        'etcd endpoints   http://a:1,http://b:1',
        'stream id scope  global',
        'warning          stream ids: no lease in etcd',
        '',
        'Counter                Value',
        '---------------------  -------',
        'stream id allocated    9',
        'stream id changed      1',
        'stream id conflicts    0',
        'stream id failed       0',
        'stream id flows        0',
        'stream id leases lost  1',
        'stream id waiting      2',
    ]
    running.run('clear sluice counters')
    running.put(2, {'SLUICE_STATS:global': {'stream_id_allocated': '12', 'stream_id_waiting': '3'}})
    assert json.loads(running.run('show sluice stream-ids --json')) == {
        'stream_ids': 'none', 'config': {'stream_id_scope': 'global', 'etcd_endpoints@': 'http://a:1,http://b:1'},
        'counters': {'stream_id_flows': 0, 'stream_id_waiting': 3, 'stream_id_conflicts': 0, 'stream_id_allocated': 3,
                     'stream_id_changed': 0, 'stream_id_failed': 0, 'stream_id_leases_lost': 0}}
    assert 'stream ids  none' in running.run('show sluice status')


def test_flows(running):
    assert running.run('show sluice flows --top 2').splitlines() == [
        'Source       Destination    DestQP    Label    Stream    Packets    Bytes',
        '-----------  -------------  --------  -------  --------  ---------  -------',
        '2001:db8::2  2001:db8::ff   0x000012  0x00002  1002      100        10000',
        '2001:db8::3  2001:db8::ff   0x000013  0x00003  -         20         2000',
        '',
        '2 of 3 flows',
    ]
    assert json.loads(running.run('show sluice flows --json')) == [typed(flow(2, 10000)), typed(flow(3, 2000)), typed(flow(1, 900))]
    assert 'flows' not in running.run('show sluice flows')
    assert running.run('show sluice flows --top 0', code=1) == 'Error: --top 0: must be 1 or more\n'


def test_flows_of_a_port(running):
    running.put(4, {'PORTCHANNEL_MEMBER|PortChannel1|Ethernet4': {}})
    running.put(6, {'SLUICE_FLOW|f1': {'ingress_port': 'Ethernet0'}, 'SLUICE_FLOW|f2': {'ingress_port': 'Ethernet0', 'egress_port': 'Ethernet4'}})
    assert running.run('show sluice flows').splitlines() == [
        'Source       Destination    DestQP    Label    In         Out        Stream    Packets    Bytes',
        '-----------  -------------  --------  -------  ---------  ---------  --------  ---------  -------',
        '2001:db8::2  2001:db8::ff   0x000012  0x00002  Ethernet0  Ethernet4  1002      100        10000',
        '2001:db8::3  2001:db8::ff   0x000013  0x00003  -          -          -         20         2000',
        '2001:db8::1  2001:db8::ff   0x000011  0x00001  Ethernet0  -          1001      9          900',
    ]
    for port, bytes_ in (('Ethernet0', [10000, 900]), ('Ethernet4', [10000]), ('PortChannel1', [10000]), ('Ethernet8', [])):
        assert [row['bytes'] for row in json.loads(running.run('show sluice flows --json --port ' + port))] == bytes_
    assert running.run('show sluice flows --port Ethernet0 --top 1').splitlines()[-1] == '1 of 2 flows'
    assert running.run('show sluice flows --port Ethernet8') == 'No flows: none of the 3 is seen at Ethernet8.\n'
    assert running.run('show sluice flows --port Ethernet9', code=1) == 'Error: --port Ethernet9: there is no such port or PortChannel; there are: ' \
        'Ethernet0, Ethernet4, Ethernet8, Ethernet12, Ethernet16, Ethernet20, Ethernet24, Ethernet28, \u2026\n'


@pytest.mark.parametrize('method, text', [
    ('rewrite', 'No flows.\n'),
    ('compute', 'No flows: one of 256 labelled packets comes to the CPU, and none came lately. SLUICE_IPFIX|global admin_state=enabled samples IPv4 and all ports, too; it needs no collector.\n'),
])
def test_no_flows(switch, method, text):
    switch.put(6, {'SLUICE_STATE|global': dict(STATE, flow_label_method=method)})
    assert switch.run('show sluice flows') == text
    assert json.loads(switch.run('show sluice flows --json')) == []


COLLECTOR = {'connected': 'true', 'records': '100', 'messages': '10', 'bytes': '9000', 'waiting': '3', 'dropped': '0',
             'connects': '1', 'refused': '0'}


def test_ipfix(running):
    assert running.run('show sluice ipfix').startswith('No collector is exported to')
    running.put(2, {'SLUICE_IPFIX_STATS:gold': COLLECTOR,
                    'SLUICE_IPFIX_STATS:tin': dict(COLLECTOR, connected='false', last_error='no route to host')})
    assert running.run('show sluice ipfix').splitlines() == [
        'Collector    Connected    Records    Waiting    Dropped    Messages    Bytes    Last error',
        '-----------  -----------  ---------  ---------  ---------  ----------  -------  ----------------',
        'gold         true         100        3          0          10          9000',
        'tin          false        100        3          0          10          9000     no route to host',
    ]
    running.run('clear sluice counters')
    running.put(2, {'SLUICE_IPFIX_STATS:gold': {'records': '150', 'waiting': '4'}})
    gold = json.loads(running.run('show sluice ipfix --json'))['gold']
    assert (gold['records'], gold['messages'], gold['waiting'], gold['connected']) == (50, 0, 4, 'true')


def test_config(running):
    assert running.run('show sluice config').splitlines() == [
        'Table              Key         Field        Value     In force',
        '-----------------  ----------  -----------  --------  --------------',
        'SLUICE_FLOW_LABEL  global      admin_state  enabled   yes',
        '                               algorithm    crc32',
        'SLUICE_PORT        Ethernet0   role         edge      yes',
        'SLUICE_PORT        Ethernet4   role         core      no: see status',
        'SLUICE_PORT        Ethernet8   flow_label   disabled  yes',
        '                               role         edge',
        'SLUICE_PORT        Ethernet12  flow_label   enabled   yes',
        'SLUICE_PPFC_PEER   ::/0                               yes',
    ]
    tables = json.loads(running.run('show sluice config --json'))
    assert list(tables) == ['SLUICE_FLOW_LABEL', 'SLUICE_PORT', 'SLUICE_PPFC_PEER']
    assert tables['SLUICE_PPFC_PEER'] == {'::/0': {}}


@pytest.mark.parametrize('command', ['status', 'capability', 'flow-label', 'stream-ids', 'ipfix'])
def test_without_a_daemon(switch, command):
    assert switch.run('show sluice ' + command, code=3).startswith('Error: not running: ')


def test_after_a_daemon_that_ended_in_order(switch):
    switch.put(6, {'SLUICE_CAPABILITY|switch': {'flow_label_method': 'compute', 'flow_label_state': 'active'}})  # which stays
    for command in set(verbs(switch)) - {'config'}:
        text = switch.run('show sluice ' + command, code=3)
        assert text.count('not running: ') == 1 and 'active' not in text, text
    assert 'not running' not in switch.run('show sluice config')


def verbs(switch):
    """What show sluice offers."""
    code, text = switch.invoke('show', 'sluice', '--help')
    names = [line.split()[0] for line in text.partition('Available Commands:\n')[2].partition('\n\n')[0].splitlines()]
    assert code == 0 and len(names) > 10, text
    return [name for name in names if name != 'help']


def test_json_is_json_where_there_is_nothing(switch):
    for command in set(verbs(switch)) - {'ports'}:  # which are those of the switch
        text = switch.run('show sluice {} --json'.format(command), code=0 if command == 'config' else 3)
        found = json.loads(text.partition('Error: not running: ')[0])
        assert not any(found.values() if isinstance(found, dict) else found)


def at(seconds):
    """A time so many seconds ago, as sluiced writes it."""
    return (datetime.now(timezone.utc) - timedelta(seconds=seconds)).strftime('%Y-%m-%dT%H:%M:%S.250Z')


@pytest.mark.parametrize('alive, old', [
    (-3600, False),  # a clock that was set back
    (0, False),
    (3600, True),
    ('2026-01-31T23:59:59Z', True),
    ('yesterday', False),
    (None, False),  # it has not begun to write it
])
def test_status_of_a_daemon_that_was_killed(switch, alive, old):
    alive = at(alive) if isinstance(alive, int) else alive
    switch.put(6, {'SLUICE_STATE|global': dict(STATE, state='running', **({'alive': alive} if alive else {}))})
    for verb in 'status', 'ports', 'config':
        marked = switch.run('show sluice ' + verb, 3 if old else 0).startswith('stale: ')
        assert marked == old
    said = switch.run('show sluice status --json', 3 if old else 0)
    assert json.loads(said[:said.rindex('}') + 1]).get('stale_since') == (alive if old else None)


def counters(switch):
    return json.loads(switch.run('show sluice flow-label --json'))['counters']


def test_clear(running):
    assert running.run('clear sluice counters') == 'Cleared sluice counters\n'
    assert counters(running) == {'label_written': 0, 'label_skipped': 0, 'cpu_roce': 0}
    running.put(2, {'SLUICE_STATS:global': {'label_written': '950', 'cpu_roce': '51'}})
    assert counters(running) == {'label_written': 50, 'label_skipped': 0, 'cpu_roce': 1}
    assert running.row('SLUICE_STATS:global', 2)['label_written'] == '950', 'the counters themselves run on'


@pytest.mark.parametrize('since, stats, want', [
    # The daemon began again, and has counted past the baseline already.
    ('2026-11-21T11:00:00Z', {'label_written': '950', 'cpu_roce': '60'}, {'label_written': 50, 'label_skipped': 0, 'cpu_roce': 60}),
    # So did the switch.
    ('2026-11-21T11:00:00Z', {'label_written': '3', 'label_skipped': '2', 'cpu_roce': '1'},
     {'label_written': 3, 'label_skipped': 2, 'cpu_roce': 1}),
])
def test_clear_and_restart(running, since, stats, want):
    running.run('clear sluice counters')
    running.put(6, {'SLUICE_STATE|global': {'since': since}})
    running.put(2, {'SLUICE_STATS:global': stats})
    assert counters(running) == want


def test_clear_without_a_daemon(switch):
    assert switch.run('clear sluice counters', code=1) == 'Error: there are no counters: is sluiced running?\n'


def test_several_asics(running, monkeypatch):
    monkeypatch.setenv('SLUICE_TEST_ASICS', '2')
    for line in ('show sluice status', 'show sluice config -n asic7', 'clear sluice counters'):
        assert running.run(line, code=1) == 'Error: -n must be one of asic0, asic1\n'
    running.put(6 + 8, {'SLUICE_STATE|global': dict(STATE, state='running', since='2026-11-21T10:00:05Z')})
    running.put(2 + 8, {'SLUICE_STATS:global': {'label_written': '5'}})
    assert json.loads(running.run('show sluice status --json -n asic0'))['state']['state'] == 'running'
    running.run('clear sluice counters -n asic0')
    assert json.loads(running.run('show sluice flow-label --json -n asic0'))['counters'] == {'label_written': 0}


def model():
    """The text of the model of STATE_DB and COUNTERS_DB."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, '../../../yang/sonic-sluice-state.yang')) as f:
        return f.read()


def container(table):
    return re.search(r'^    container %s {\n(.*?)^    }$' % table, model(), re.M | re.S).group(1)


@pytest.mark.parametrize('table, row', [
    ('SLUICE_STATE', STATE), ('SLUICE_CAPABILITY', CAPABILITY), ('SLUICE_STATS', STATS),
    ('SLUICE_STATS', STREAMS), ('SLUICE_CONFIG_ERROR', ERROR), ('SLUICE_FLOW', flow(1, 100)), ('SLUICE_IPFIX_STATS', COLLECTOR),
])
def test_rows_are_those_of_the_model(table, row):
    """The tests write what sluiced writes: fields that the model has."""
    text = container(table)
    for group in re.findall(r'uses ([\w-]+);', text):
        text += re.search(r'^  grouping %s {\n(.*?)^  }$' % group, model(), re.M | re.S).group(1)
    assert set(row) <= set(re.findall(r'leaf (\w+) {', text))
