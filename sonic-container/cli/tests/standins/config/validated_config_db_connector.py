# SPDX-License-Identifier: Apache-2.0
"""A stand-in for SONiC's ValidatedConfigDBConnector. With SLUICE_TEST_REFUSE it
refuses every write, as the switch does where YANG validation is on.
"""

import os


class ValidatedConfigDBConnector:
    def __init__(self, connector):
        self.connector = connector

    def __getattr__(self, name):
        if name in ('set_entry', 'mod_entry') and 'SLUICE_TEST_REFUSE' in os.environ:
            return self._refuse
        return getattr(self.connector, name)

    @staticmethod
    def _refuse(*_):
        raise ValueError('Given patch is not valid:\n' + os.environ['SLUICE_TEST_REFUSE'])
