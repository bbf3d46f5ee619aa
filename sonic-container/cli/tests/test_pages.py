# SPDX-License-Identifier: Apache-2.0
"""The commands of each page, in its order, print what it says. To write what they
print into the pages: SLUICE_PAGES_UPDATE=1 /usr/bin/python3 -m pytest sonic-container/cli/tests/test_pages.py
"""

import glob
import json
import os
import re

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..')
PAGES = sorted(os.path.relpath(path, ROOT) for path in glob.glob(ROOT + '/docs/**/*.md', recursive=True))
BLOCK = re.compile(r'^```console switch\n(.*?)^```$', re.M | re.S)


def read(page):
    with open(os.path.join(ROOT, page), encoding='utf-8') as f:
        return f.read()


# What sluiced says of a switch that computes labels, on which the port of
# docs/sonic-vs.md is the only one.
SAYS = {
    6: {'SLUICE_STATE|global': {
            'state': 'running', 'driver': 'sai', 'version': '0.1.0', 'flow_label': 'active', 'flow_label_method': 'compute',
            'stream_ids': 'hash', 'objects': '8', 'flows': '0', 'config_errors': '0', 'since': '2026-11-21T11:56:49Z'},
        'SLUICE_CAPABILITY|switch': {
            'flow_label_method': 'compute', 'flow_label_state': 'active', 'flow_label_reason': 'preferred method available',
            'export_method': 'sample', 'export_state': 'unproven', 'export_reason': 'preferred method available',
            'threshold_method': 'exact', 'threshold_state': 'unproven', 'threshold_reason': 'preferred method available',
            'hold_method': 'exact', 'hold_state': 'unproven', 'hold_reason': 'preferred method available',
            'flow_label_ipv4': 'not spread: IPv4 has no flow label'}},
    2: {'SLUICE_STATS:global': {'label_written': '184203', 'label_skipped': '17', 'label_skipped_percent': '0.0',
                              'cpu_copied': '0', 'cpu_roce': '0'}},
}

# And of one in a fleet, whose flows have entries.
IN_A_FLEET = {
    6: {'SLUICE_STATE|global': {'stream_ids': 'global', 'flow_label_method': 'rewrite', 'flows': '64'}},
    2: {'SLUICE_STATS:global': {
        'stream_id_flows': '64', 'stream_id_waiting': '0', 'stream_id_conflicts': '0', 'stream_id_allocated': '71',
        'stream_id_changed': '0', 'stream_id_failed': '0', 'stream_id_leases_lost': '0'}},
}

# And of one that holds a flow, and has asked for another to be held.
HOLDING = {
    6: {'SLUICE_STATE|global': {'pfcm': 'active', 'holds': '1'},
        'SLUICE_HOLD|a': {
            'message': 'pfcm', 'from': 'fe80::2', 'port': 'Ethernet0', 'queue': '3', 'stream_id': '53204', 'state': 'held', 'action': 'pause',
            'src': '2001:db8:a::1', 'dst': '2001:db8:b::2', 'since': '2026-11-21T11:58:00Z', 'until': '2026-11-21T11:58:00.04Z',
            'packets': '5', 'waiting_bytes': '4096', 'dropped': '0'},
        'SLUICE_FLOW|a': {
            'src': '2001:db8:a::3', 'dst': '2001:db8:b::4', 'dest_qp': '34', 'flow_label': '5', 'stream_id': '777', 'state': 'congested',
            'since': '2026-11-21T11:58:00Z', 'egress_port': 'Ethernet0', 'queue': '3', 'queue_bytes': '131072', 'exact': 'true', 'method': 'exact', 'ingress_port': 'Ethernet4', 'notified_neighbor': 'fe80::4'}},
    2: {'SLUICE_NOTIFY_STATS:pfcm': {
        'sent': '12', 'received': '31', 'obeyed': '30', 'held': '4', 'refreshed': '22', 'dropped_hop_limit': '1', 'watchdog': '0',
        'reaction_us_n': '4', 'reaction_us_p50': '96.0', 'reaction_us_p99': '211.1', 'reaction_us_p999': '211.1', 'reaction_us_max': '211.1',
        'enforce_us_n': '4', 'enforce_us_p50': '54.3', 'enforce_us_p99': '217.6', 'enforce_us_p999': '217.6', 'enforce_us_max': '217.6'}},
}

# And of a gateway that also advises.
TELLING = {
    6: {'SLUICE_STATE|global': {'ppfc': 'active', 'rate_advice': 'active', 'holds': '1'}},
    2: {'SLUICE_NOTIFY_STATS:ppfc': {
            'sent': '12', 'received': '31', 'obeyed': '30', 'held': '4', 'refreshed': '22', 'dropped_sender': '1',
            'reaction_us_n': '4', 'reaction_us_p50': '96.0', 'reaction_us_p99': '211.1', 'reaction_us_p999': '211.1', 'reaction_us_max': '211.1',
            'enforce_us_n': '4', 'enforce_us_p50': '54.3', 'enforce_us_p99': '217.6', 'enforce_us_p999': '217.6', 'enforce_us_max': '217.6'},
        'SLUICE_NOTIFY_STATS:rate-advice': {'sent': '75', 'qp_unknown': '2', 'send_failed': '0'}},
}


# And what it says on docs/sonic.md, where syncd owns the ASIC: right after the installation, and
# with placement. tests/e2e/sonic_page_test.go compares these rows with those of a running one.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'orchagent.json'), encoding='utf-8') as rows:
    STOCK = json.load(rows)


@pytest.mark.parametrize('page', [page for page in PAGES if BLOCK.search(read(page))])
def test_page(switch, page):
    text = read(page)

    def says(databases):
        for number, rows in databases.items():
            switch.put(number, rows)

    stock = page == 'docs/sonic.md'
    says({6: STOCK['installed']} if stock else SAYS)

    def run_block(block):
        lines = []
        if stock and 'placement set' in block.group(1):
            says({6: STOCK['placed']})
        if 'stream-id-scope global' in block.group(1):
            says(IN_A_FLEET)
        if 'show sluice holds' in block.group(1):
            says(HOLDING)
        if 'advice.md' in page:
            says(TELLING)
        shown = block.group(1).replace('\\\n', '\0').splitlines()  # a command goes on behind a backslash
        for line in shown:
            if line.startswith('$ '):
                words = line[2:].replace('\0', ' ').replace('sudo ', '')
                refused = words.endswith(' md5')
                lines += [line.replace('\0', '\\\n')] + switch.run(words, code=1 if refused else 0).splitlines()
        return '```console switch\n' + '\n'.join(lines) + '\n```'

    printed = BLOCK.sub(run_block, text)
    if 'SLUICE_PAGES_UPDATE' in os.environ:
        with open(os.path.join(ROOT, page), 'w', encoding='utf-8') as f:
            f.write(printed)
        return
    assert printed == text


def test_pages_are_found():
    assert sum(len(BLOCK.findall(read(page))) for page in PAGES) >= 4
