# SPDX-License-Identifier: Apache-2.0
"""The commands of the README, in its order, print what it says. To write what they
print into it: SLUICE_README_UPDATE=1 /usr/bin/python3 -m pytest sonic-container/cli/tests/test_readme.py
"""

import os
import re

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../README.md')
BLOCK = re.compile(r'^```console switch\n(.*?)^```$', re.M | re.S)

# What sluiced says of a switch that computes labels, on which the port of the
# README is the only one.
SAYS = {
    6: {'SLUICE_STATE|global': {
            'state': 'running', 'driver': 'sai', 'version': '0.1.0', 'flow_label': 'active', 'flow_label_method': 'compute',
            'stream_ids': 'hash', 'objects': '8', 'flows': '0', 'config_errors': '0', 'since': '2026-11-21T11:56:49Z'},
        'SLUICE_CAPABILITY|switch': {
            'flow_label_method': 'compute', 'flow_label_reason': 'preferred method available',
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


def test_readme(switch):
    with open(README) as f:
        page = f.read()

    def says(databases):
        for number, rows in databases.items():
            switch.put(number, rows)

    says(SAYS)

    def run_block(block):
        lines = []
        if 'stream-id-scope global' in block.group(1):
            says(IN_A_FLEET)
        for line in block.group(1).splitlines():
            if line.startswith('$ '):
                words = line[2:].replace('sudo ', '')
                refused = words.endswith(' md5')
                lines += [line] + switch.run(words, code=1 if refused else 0).splitlines()
        return '```console switch\n' + '\n'.join(lines) + '\n```'

    assert len(BLOCK.findall(page)) == 4
    printed = BLOCK.sub(run_block, page)
    if 'SLUICE_README_UPDATE' in os.environ:
        with open(README, 'w') as f:
            f.write(printed)
        return
    assert printed == page
