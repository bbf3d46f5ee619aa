# SPDX-License-Identifier: Apache-2.0
"""Runs command lines for tests in other languages: reads a JSON list of lists of
words, the Redis in SLUICE_TEST_REDIS, and prints a JSON list of [exit code, text].
"""

import json
import sys

from click.testing import CliRunner
from conftest import Switch

commands = Switch(None).commands
said = []
for words in json.load(sys.stdin):
    result = CliRunner().invoke(commands[words[0]], words[1:], prog_name=words[0])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    said.append([result.exit_code, result.output])
json.dump(said, sys.stdout)
