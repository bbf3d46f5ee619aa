# SPDX-License-Identifier: Apache-2.0
"""A stand-in for SONiC's multi_asic: what the plugins use of it."""

import os


def get_namespace_list(namespace=None):
    """The namespaces of the ASICs; of a switch with one ASIC, which has none, an empty name."""
    return ['asic{}'.format(i) for i in range(int(os.environ.get('SLUICE_TEST_ASICS', '0')))] or ['']
