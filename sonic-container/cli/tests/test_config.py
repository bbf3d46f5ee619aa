# SPDX-License-Identifier: Apache-2.0
"""config sluice, against a real Redis."""

import threading

import pytest

FLOW_LABEL = 'SLUICE_FLOW_LABEL|global'
GLOBAL = 'SLUICE|global'
PORT = 'SLUICE_PORT|Ethernet0'
GOLD = 'SLUICE_IPFIX_COLLECTOR|gold.1'


def rows(switch):
    """All our rows of CONFIG_DB."""
    return {name: switch.row(name) for name in switch.db(4).keys('SLUICE*')}


@pytest.mark.parametrize('before, line, after', [
    ({}, 'flow-label set --admin-state enabled', {FLOW_LABEL: {'admin_state': 'enabled'}}),
    ({}, 'flow set --algorithm crc32 --rewrite always --manage-switch-hash true',
     {FLOW_LABEL: {'algorithm': 'crc32', 'rewrite': 'always', 'manage_switch_hash': 'true'}}),
    ({FLOW_LABEL: {'algorithm': 'crc32'}}, 'flow-label set --admin-state disabled',
     {FLOW_LABEL: {'algorithm': 'crc32', 'admin_state': 'disabled'}}),
    ({FLOW_LABEL: {'algorithm': 'crc32', 'rewrite': 'always'}}, 'flow-label del rewrite', {FLOW_LABEL: {'algorithm': 'crc32'}}),
    ({FLOW_LABEL: {'algorithm': 'crc32'}}, 'flow-label del algorithm', {}),
    ({FLOW_LABEL: {'algorithm': 'crc32'}}, 'flow-label del', {}),
    ({}, 'global set --cpu-rate 1 --cpu-burst 1000000 --flow-capacity 1024',
     {GLOBAL: {'cpu_rate': '1', 'cpu_burst': '1000000', 'flow_capacity': '1024'}}),
    ({}, 'global set --driver orchagent', {GLOBAL: {'driver': 'orchagent'}}),
    ({}, 'global set --rc-source-qp zero --warm-restart disabled', {GLOBAL: {'rc_source_qp': 'zero', 'warm_restart': 'disabled'}}),
    ({GLOBAL: {'stream_id_scope': 'global', 'etcd_endpoints@': 'http://a:1,http://b:1', 'cpu_rate': '5'}}, 'global del cpu-rate',
     {GLOBAL: {'stream_id_scope': 'global', 'etcd_endpoints@': 'http://a:1,http://b:1'}}),
    ({}, 'global set --stream-id-scope global --stream-id-domain pod-7 --etcd-endpoints https://a:1,https://[2001:db8::1]:1 --etcd-ca-file /ca '
         '--etcd-cert-file /c --etcd-key-file /k --etcd-user u --etcd-password-file /p',
     {GLOBAL: {'stream_id_scope': 'global', 'stream_id_domain': 'pod-7', 'etcd_endpoints@': 'https://a:1,https://[2001:db8::1]:1',
               'etcd_ca_file': '/ca', 'etcd_cert_file': '/c', 'etcd_key_file': '/k', 'etcd_user': 'u', 'etcd_password_file': '/p'}}),
    ({GLOBAL: {'etcd_endpoints@': 'http://a:1'}}, 'global set --stream-id-scope global', {GLOBAL: {'stream_id_scope': 'global', 'etcd_endpoints@': 'http://a:1'}}),
    ({GLOBAL: {'etcd_endpoints@': 'http://a:1,http://b:1', 'cpu_rate': '5'}}, 'global del etcd-endpoints', {GLOBAL: {'cpu_rate': '5'}}),
    ({}, 'global set --stream-id-scope local --stream-id-seed 4294967295', {GLOBAL: {'stream_id_scope': 'local', 'stream_id_seed': '4294967295'}}),
    ({}, 'port set Ethernet0 --role edge', {PORT: {'role': 'edge'}}),
    ({}, 'port set PortChannel1 --flow-label enabled', {'SLUICE_PORT|PortChannel1': {'flow_label': 'enabled'}}),
    ({PORT: {'role': 'edge', 'flow_label': 'disabled'}}, 'port del Ethernet0 flow_label', {PORT: {'role': 'edge'}}),
    ({PORT: {'role': 'edge'}}, 'port del Ethernet0 role', {PORT: {'NULL': 'NULL'}}),
    ({PORT: {'NULL': 'NULL'}}, 'port del Ethernet0', {}),
    ({'SLUICE_PORT|Ethernet99': {'role': 'edge'}}, 'port del Ethernet99', {}),
    ({}, 'ipfix set --admin-state enabled --pen 0 --element-ids 607,600,601,602,603,604,605,606 --sampling-rate 4294967295',
     {'SLUICE_IPFIX|global': {'admin_state': 'enabled', 'pen': '0', 'element_ids@': '607,600,601,602,603,604,605,606', 'sampling_rate': '4294967295'}}),
    ({}, 'ipfix set --pen 4242 --first-element-id 503', {'SLUICE_IPFIX|global': {'pen': '4242', 'first_element_id': '503'}}),
    ({}, 'global set --router-id 203.0.113.1 --router-id-v6 2001:db8::1', {GLOBAL: {'router_id': '203.0.113.1', 'router_id_v6': '2001:db8::1'}}),
    ({}, 'ppfc set --admin-state enabled --client-message rate-advice', {'SLUICE_PPFC|global': {'admin_state': 'enabled', 'client_message': 'rate-advice'}}),
    ({}, 'ppfc-gateway set 2001:db8:a::/48 --gateway 2001:db8:ff::1', {'SLUICE_PPFC_GATEWAY|2001:db8:a::/48': {'gateway': '2001:db8:ff::1'}}),
    ({}, 'ppfc-gateway set 2001:db8:a::/48 --gateway 2001:db8:ff::1 --other-gateways 2001:db8:ff::2,2001:db8:ff::3',
     {'SLUICE_PPFC_GATEWAY|2001:db8:a::/48': {'gateway': '2001:db8:ff::1', 'other_gateways@': '2001:db8:ff::2,2001:db8:ff::3'}}),
    ({}, 'rate-policy set silver --dscp 10 --port-percent 30', {'SLUICE_RATE_POLICY|silver': {'dscp': '10', 'port_percent': '30'}}),
    ({}, 'ppfc-peer set 2001:db8:ff::/64', {'SLUICE_PPFC_PEER|2001:db8:ff::/64': {'NULL': 'NULL'}}),
    ({}, 'rate-advice set --admin-state enabled --opcode 29 --rtt-us 20000', {'SLUICE_RATE_ADVICE|global': {'admin_state': 'enabled', 'opcode': '29', 'rtt_us': '20000'}}),
    ({}, 'rate-advice-host set 10.0.0.0/8', {'SLUICE_RATE_ADVICE_HOST|10.0.0.0/8': {'NULL': 'NULL'}}),
    ({'SLUICE_RATE_ADVICE_HOST|10.0.0.0/8': {'NULL': 'NULL'}}, 'rate-advice-host del 10.0.0.0/8', {}),
    ({}, 'rate-policy set gold --src-prefix 2001:db8:a::/48 --dscp 26 --rate-mbps 400',
     {'SLUICE_RATE_POLICY|gold': {'src_prefix': '2001:db8:a::/48', 'dscp': '26', 'rate_mbps': '400'}}),
    ({}, 'flow-label set --tunnels outer', {'SLUICE_FLOW_LABEL|global': {'tunnels': 'outer'}}),
    ({}, 'ipfix-collector set gold.1 --address 2001:db8::9', {GOLD: {'address': '2001:db8::9'}}),
    ({GOLD: {'address': '10.0.0.9'}}, 'ipfix-collector set gold.1 --transport tls --ca-file /etc/sonic/ca.pem',
     {GOLD: {'address': '10.0.0.9', 'transport': 'tls', 'ca_file': '/etc/sonic/ca.pem'}}),
    ({GOLD: {'address': '10.0.0.9', 'port': '1'}}, 'ipfix-collector del gold.1 port', {GOLD: {'address': '10.0.0.9'}}),
    ({GOLD: {'address': '10.0.0.9'}}, 'ipfix-collector del gold.1', {}),
])
def test_writes(switch, before, line, after):
    switch.put(4, before)
    assert switch.run('config sluice ' + line) == ''
    assert rows(switch) == after


@pytest.mark.parametrize('line, message', [
    ('flow-label set --algorithm md5', '--algorithm: "md5" must be one of draft-literal, crc32 (config sluice flow-label set --help)'),
    ('flow-label set --admin-state enabled --rewrite often', '--rewrite: "often" must be one of zero-only, always (config sluice flow-label set --help)'),
    ('flow-label set --manage-switch-hash True', '--manage-switch-hash: "True" must be one of true, false (config sluice flow-label set --help)'),
    ('rate-advice set --opcode 10', 'SLUICE_RATE_ADVICE|global: opcode "10": must be 29 or 192..255'),
    ('rate-advice-host set 10.0.0.1', 'SLUICE_RATE_ADVICE_HOST|10.0.0.1: prefix "10.0.0.1": must be an IP prefix, as 10.0.0.0/8 or 2001:db8::/32'),
    ('ppfc-gateway set 2001:db8:a::/48 --gateway 10.0.0.1', 'SLUICE_PPFC_GATEWAY|2001:db8:a::/48: gateway "10.0.0.1": gateway and prefix must be of one address family'),
    ('rate-policy set gold --src-prefix 10.0.0.0/8 --dst-prefix 2001:db8::/32 --rate-mbps 1',
     'SLUICE_RATE_POLICY|gold: dst_prefix "2001:db8::/32": src_prefix and dst_prefix must be of one address family'),
    ('global set --router-id 2001:db8::1', 'SLUICE|global: router_id "2001:db8::1": must be an IPv4 address'),
    ('flow-label set', 'nothing to set: give one of --admin-state, --algorithm, --hash-ports, --manage-switch-hash, --rewrite, --tunnels'),
    ('flow-label del', 'SLUICE_FLOW_LABEL|global: no such row'),
    ('global set --flow-capacity 1023', 'SLUICE|global: flow_capacity "1023": must be 1024..4194304'),
    ('global set --flow-capacity 4194305', 'SLUICE|global: flow_capacity "4194305": must be 1024..4194304'),
    ('global set --cpu-rate 0x10', 'SLUICE|global: cpu_rate "0x10": must be a decimal number, 1..10000000'),
    ('global set --cpu-rate 010', 'SLUICE|global: cpu_rate "010": must be a decimal number, 1..10000000'),
    ('global set --cpu-rate +5', 'SLUICE|global: cpu_rate "+5": must be a decimal number, 1..10000000'),
    ('global set --cpu-rate \u0665', 'SLUICE|global: cpu_rate "\u0665": must be a decimal number, 1..10000000'),
    ('global set --cpu-rate \u00b2', 'SLUICE|global: cpu_rate "\u00b2": must be a decimal number, 1..10000000'),
    ('global set --etcd-endpoints a:1', 'SLUICE|global: etcd_endpoints@ "a:1": must be '
     'http://HOST:PORT or https://HOST:PORT'),
    ('global set --etcd-endpoints http://a:1,http://a:1', 'SLUICE|global: etcd_endpoints@ "http://a:1": must not be there twice'),
    ('global set --etcd-endpoints http://a:1,', 'SLUICE|global: etcd_endpoints@: must be '
     'http://HOST:PORT or https://HOST:PORT'),
    ('global set --stream-id-scope global', 'SLUICE|global: stream_id_scope global needs etcd_endpoints'),
    ('global set --etcd-endpoints http://a:1,https://b:1 --etcd-ca-file /a', 'SLUICE|global: etcd_endpoints must be all http, or all https'),
    ('global set --etcd-endpoints https://b:1', 'SLUICE|global: etcd_ca_file is needed with etcd_endpoints of https, and is for them only'),
    ('global set --etcd-ca-file /a', 'SLUICE|global: etcd_ca_file is needed with etcd_endpoints of https, and is for them only'),
    ('global set --etcd-endpoints https://b:1 --etcd-ca-file /a --etcd-key-file /a', 'SLUICE|global: etcd_cert_file and etcd_key_file go together'),
    ('global set --etcd-endpoints http://b:1 --etcd-cert-file /a --etcd-key-file /a',
     'SLUICE|global: etcd_cert_file needs etcd_ca_file, and etcd_endpoints of https'),
    ('global set --etcd-user me', 'SLUICE|global: etcd_user and etcd_password_file go together'),
    ('global set --stream-id-domain a/b', 'SLUICE|global: stream_id_domain "a/b": must be 1..64 letters, digits, _ . -'),
    ('port set Ethernet0 --role core', '--role: "core" must be one of edge, fabric, border (config sluice port set --help)'),
    ('port set Ethernet9 --role edge', 'SLUICE_PORT|Ethernet9: name "Ethernet9": no such row in PORT or PORTCHANNEL; there are: '
     'Ethernet0, Ethernet4, Ethernet8, Ethernet12, Ethernet16, Ethernet20, Ethernet24, Ethernet28, \u2026'),
    ('port set Ethernet0', 'nothing to set: give one of --flow-label, --role, --threshold, --upstream-neighbor'),
    ('port set PortChannel1|Ethernet0 --role edge', 'SLUICE_PORT|PortChannel1|Ethernet0: name "PortChannel1|Ethernet0": no such row in PORT or PORTCHANNEL; there are: '
     'Ethernet0, Ethernet4, Ethernet8, Ethernet12, Ethernet16, Ethernet20, Ethernet24, Ethernet28, \u2026'),
    ('port del Ethernet4', 'SLUICE_PORT|Ethernet4: no such row; there are: Ethernet8'),
    ('port del Ethernet8 flow-label', 'SLUICE_PORT|Ethernet8: flow_label: is not set'),
    ('port del Ethernet8 color', 'SLUICE_PORT|Ethernet8: "color": no such field; there are: flow-label, role, threshold, upstream-neighbor'),
    ('ipfix-collector set gold', 'SLUICE_IPFIX_COLLECTOR|gold: address: is missing, and has no default'),
    ('ipfix-collector set a/b --address 10.0.0.9', 'SLUICE_IPFIX_COLLECTOR|a/b: name "a/b": must be 1..64 letters, digits, _ . -'),
    ('ipfix-collector set gold --address 10.0.0.300', 'SLUICE_IPFIX_COLLECTOR|gold: address "10.0.0.300": must be an IP address'),
    ('ipfix-collector set gold --address 10.0.0.09', 'SLUICE_IPFIX_COLLECTOR|gold: address "10.0.0.09": must be an IP address'),
    ('ipfix-collector set gold --address fe80::1%eth0', 'SLUICE_IPFIX_COLLECTOR|gold: address "fe80::1%eth0": must be an IP address'),
    ('ipfix-collector set gold --address ::1 --port 0', 'SLUICE_IPFIX_COLLECTOR|gold: port "0": must be 1..65535'),
    ('ipfix-collector set gold --address ::1 --ca-file ' + 4097 * 'x',
     'SLUICE_IPFIX_COLLECTOR|gold: ca_file "{}\u2026 (4097 bytes)": must be 1..4096 characters long, and is 4097'.format(256 * 'x')),
    ('ipfix-collector set gold --address ::1 --transport dtls',
     'SLUICE_IPFIX_COLLECTOR|gold: ca_file is needed with transport tls and dtls, and is for them only'),
    ('ipfix-collector set gold --address ::1 --ca-file /x',
     'SLUICE_IPFIX_COLLECTOR|gold: ca_file is needed with transport tls and dtls, and is for them only'),
    ('ipfix-collector set gold --address ::1 --cert-file /x', 'SLUICE_IPFIX_COLLECTOR|gold: cert_file and key_file go together'),
    ('ipfix set --pen 0', 'SLUICE_IPFIX|global: element_ids are eight with pen 0, as IANA assigned them, and for pen 0 only'),
    ('ipfix set --pen 0 --first-element-id 503 --element-ids 600,601,602,603,604,605,606,607',
     'SLUICE_IPFIX|global: first_element_id is for an enterprise number: with pen 0 give the eight ids that IANA assigned in element_ids'),
    ('ipfix set --element-ids 600,601,602,603,604,605,606,607',
     'SLUICE_IPFIX|global: element_ids are eight with pen 0, as IANA assigned them, and for pen 0 only'),
    ('global set --cpu-rate 5 -n asic0', '-n asic0: this switch has one ASIC, leave -n out'),
])
def test_refuses_in_one_line_and_writes_nothing(switch, line, message):
    switch.put(4, {'SLUICE_PORT|Ethernet8': {'role': 'edge'}})
    assert switch.run('config sluice ' + line, code=1) == 'Error: {}\n'.format(message)
    assert rows(switch) == {'SLUICE_PORT|Ethernet8': {'role': 'edge'}}


def test_thresholds_and_pfcm(switch):
    switch.run('config sluice threshold set gold --high-bytes 100000 --queues 3,4')
    switch.run('config sluice pfcm set --admin-state enabled --encapsulation hop-by-hop --require-mark 7')
    switch.run('config sluice port set Ethernet0 --threshold gold --upstream-neighbor fe80::1')
    assert switch.db(4).hgetall('SLUICE_THRESHOLD|gold') == {'high_bytes': '100000', 'queues@': '3,4'}
    assert switch.db(4).hgetall('SLUICE_PFCM|global') == {'admin_state': 'enabled', 'encapsulation': 'hop-by-hop', 'require_mark': '7'}
    assert switch.db(4).hgetall('SLUICE_PORT|Ethernet0')['upstream_neighbor'] == 'fe80::1'
    for line, says in (('threshold set gold --low-bytes 100000', 'low_bytes must be less than high_bytes'),
                       ('threshold set gold --queues 8', 'queues'),
                       ('threshold set silver --low-bytes 1', 'high'),
                       ('port set Ethernet0 --upstream-neighbor 2001:db8::1', 'must be a link-local IPv6 address')):
        assert says in switch.run('config sluice ' + line, code=1), line
    assert 'low_bytes' not in switch.db(4).hgetall('SLUICE_THRESHOLD|gold')


@pytest.mark.parametrize('line', ['port set', 'pfcm set --allow-loss true', 'rate-advice-host set', 'global set --classification 5-tuple'])
def test_has_no_command_for_what_does_nothing(switch, line):
    assert switch.run('config sluice ' + line, code=1).startswith('Error: ')
    assert rows(switch) == {}


def test_a_row_is_written_by_one_command(switch):
    """A watcher sees the fields of a command together, or not at all."""
    seen, ready = [], threading.Event()

    def watch():
        with switch.db(4).monitor() as monitor:
            ready.set()
            for command in monitor.listen():
                if command['command'].startswith('DEL end'):
                    return
                seen.append(command['command'].split(' ')[0].upper())

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert ready.wait(30)
    switch.run('config sluice flow-label set --admin-state enabled --algorithm crc32 --rewrite always')
    switch.db(4).delete('end')
    watcher.join(30)
    assert not watcher.is_alive()
    assert [c for c in seen if c.startswith('H') and c not in ('HGETALL', 'HELLO')] == ['HSET']


@pytest.mark.parametrize('field, message', [
    ('address', 'address: is missing, and has no default'),
    ('ca-file', 'ca_file is needed with transport tls and dtls, and is for them only'),
    ('transport', 'ca_file is needed with transport tls and dtls, and is for them only'),
    ('key-file', 'cert_file and key_file go together'),
])
def test_a_field_that_others_need_stays(switch, field, message):
    row = {'address': '::1', 'transport': 'tls', 'ca_file': '/a', 'cert_file': '/b', 'key_file': '/c'}
    switch.put(4, {GOLD: row})
    assert switch.run('config sluice ipfix-collector del gold.1 ' + field, code=1) == 'Error: {}: {}\n'.format(GOLD, message)
    assert rows(switch) == {GOLD: row}


def test_several_asics(switch, monkeypatch):
    monkeypatch.setenv('SLUICE_TEST_ASICS', '2')
    switch.put(4 + 16, {'PORT|Ethernet0': {'lanes': '1'}})
    for line in ('', ' -n asic2'):
        assert switch.run('config sluice port set Ethernet0 --role edge' + line, code=1) == 'Error: -n must be one of asic0, asic1\n'
    switch.run('config sluice port set Ethernet0 --role edge -n asic1')
    assert rows(switch) == {}
    assert switch.row(PORT, 4 + 16) == {'role': 'edge'}


def test_help_names_what_is_allowed(switch):
    text = ' '.join(switch.run('config sluice flow-label set --help').split())
    for want in ('draft-literal|crc32', 'Which labels are written: one of zero-only, always; default zero-only', 'config sluice flow-label set [flags]'):
        assert want in text
