# SPDX-License-Identifier: Apache-2.0
"""A stand-in for SONiC's utilities_common.cli: what the plugins use of it."""

import os

import click

from .db import Db

pass_db = click.make_pass_decorator(Db, ensure=True)


class AliasedGroup(click.Group):
    """Takes a command by any prefix that only one has."""

    def get_command(self, ctx, cmd_name):
        found = [name for name in self.list_commands(ctx) if name.startswith(cmd_name)]
        if cmd_name in found or len(found) == 1:
            return super().get_command(ctx, cmd_name if cmd_name in found else found[0])
        return None


class UserCache:
    """A folder for a user and an application."""

    def __init__(self, app_name):
        self.path = os.path.join(os.environ['SLUICE_TEST_CACHE'], app_name)

    def get_directory(self):
        os.makedirs(self.path, exist_ok=True)
        return self.path
