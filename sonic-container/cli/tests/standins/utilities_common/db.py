# SPDX-License-Identifier: Apache-2.0
"""A stand-in for SONiC's connectors, on a real Redis: what is written and read is
what swsscommon would write and read, command by command.
"""

import os

import redis

IDS = {'APPL_DB': 0, 'COUNTERS_DB': 2, 'CONFIG_DB': 4, 'STATE_DB': 6}


def connect(database, offset=0):
    return redis.Redis(unix_socket_path=os.environ['SLUICE_TEST_REDIS'], db=IDS[database] + offset, decode_responses=True)


class SonicV2Connector:
    """Keys and hashes of all databases."""

    def __init__(self, offset=0):
        self.offset = offset

    def keys(self, database, pattern):
        return connect(database, self.offset).keys(pattern) or None

    def get_all(self, database, name):
        return connect(database, self.offset).hgetall(name)


class ConfigDBConnector:
    """Rows of CONFIG_DB. A row without fields is stored as {NULL: NULL}."""

    def __init__(self, offset=0):
        self.redis = connect('CONFIG_DB', offset)

    def get_entry(self, table, key):
        return self._typed(self.redis.hgetall('{}|{}'.format(table, key)))

    def get_table(self, table):
        prefix = table + '|'
        return {name[len(prefix):]: self._typed(self.redis.hgetall(name)) for name in self.redis.keys(prefix + '*')}

    def set_entry(self, table, key, data):
        name = '{}|{}'.format(table, key)
        if data is None:
            self.redis.delete(name)
            return
        raw = self._raw(data)
        before = self.redis.hgetall(name)
        self.redis.hset(name, mapping=raw)
        for field in before:
            if field not in raw:
                self.redis.hdel(name, field)

    def mod_entry(self, table, key, data):
        self.redis.hset('{}|{}'.format(table, key), mapping=self._raw(data))

    @staticmethod
    def _typed(raw):
        return {k.rstrip('@'): v.split(',') if k.endswith('@') else v for k, v in raw.items() if k != 'NULL'}

    @staticmethod
    def _raw(data):
        raw = {k + '@' if isinstance(v, list) else k: ','.join(v) if isinstance(v, list) else v for k, v in data.items()}
        return raw or {'NULL': 'NULL'}


class Db:
    """All databases, and those of every ASIC where there are several."""

    def __init__(self):
        self.cfgdb_clients = {'': ConfigDBConnector()}
        self.db_clients = {'': SonicV2Connector()}
        for i in range(int(os.environ.get('SLUICE_TEST_ASICS', '0'))):
            self.cfgdb_clients['asic{}'.format(i)] = ConfigDBConnector(8 * (i + 1))
            self.db_clients['asic{}'.format(i)] = SonicV2Connector(8 * (i + 1))
