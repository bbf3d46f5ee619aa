# SPDX-License-Identifier: Apache-2.0
"""Loads YANG modules as SONiC's utilities do, and prints what they make of a configuration.

    modules.py FOLDER FILE

The first line of output is the modules of the tables; the second the tables of FILE that no
module has; the third "valid", or why it is not.
"""

import json
import sys

import sonic_yang

folder, file = sys.argv[1:]
with open(file, encoding='utf-8') as f:
    config = json.load(f)
sy = sonic_yang.SonicYang(folder, print_log_enabled=False)
sy.loadYangModel()
print(json.dumps({table: entry.get('module') for table, entry in sy.confDbYangMap.items()}))
try:
    sy.loadData(config)
    print(json.dumps(sorted(sy.tablesWithOutYang)))
    sy.validate_data_tree()
    print('valid')
except Exception as err:  # which one SONiC raises is its own affair
    print(json.dumps(sorted(sy.tablesWithOutYang)))
    print(' '.join(str(err).split()))
