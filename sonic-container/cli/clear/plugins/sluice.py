# SPDX-License-Identifier: Apache-2.0
"""clear sluice counters: keeps a baseline on the host, which show takes off.

The counters themselves belong to sluiced and to the switch, and run on.
"""

import json
import os
import tempfile

import click
import utilities_common.cli as clicommon
from natsort import natsorted


def connector(db, namespace):
    """The databases of a namespace: of the only one, or of the ASIC that -n names."""
    asics = natsorted(name for name in db.db_clients if name)
    if not asics and namespace:
        raise click.ClickException('-n {}: this switch has one ASIC, leave -n out'.format(namespace))
    if asics and namespace not in asics:
        raise click.ClickException('-n must be one of {}'.format(', '.join(asics)))
    return db.db_clients[namespace or '']


def keep(path, what):
    """Writes a file in one go: a reader has the old one or the new one."""
    fd, name = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(fd, 'w') as f:
            json.dump(what, f)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


class Group(clicommon.AliasedGroup):
    """Ends with one line, whatever goes wrong: Redis may be away, or closed to the user."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise  # click has its own ways for these
        except Exception as err:  # the kinds differ from release to release
            raise click.ClickException(' '.join('{}: {}'.format(type(err).__name__, err).split()))


@click.group(name='sluice', cls=Group)
def sluice():
    """Control of single RoCEv2 flows"""


@sluice.command()
@click.option('-n', '--namespace', metavar='asicN', help='The ASIC, on a switch of several.')
@clicommon.pass_db
def counters(db, namespace):
    """Let show sluice count from now on, for the user who calls it"""
    client = connector(db, namespace)
    names = ['SLUICE_STATS:global'] + (client.keys('COUNTERS_DB', 'SLUICE_IPFIX_STATS:*') or [])
    rows = {name: client.get_all('COUNTERS_DB', name) or {} for name in names}
    state = client.get_all('STATE_DB', 'SLUICE_STATE|global') or {}
    if not any(rows.values()):
        raise click.ClickException('there are no counters: is sluiced running (show sluice status)?')
    folder = clicommon.UserCache('sluice').get_directory()
    what = {'since': state.get('since'),
            'counters': {name: {k: v for k, v in row.items() if v.isdigit()} for name, row in rows.items()}}
    try:
        keep(os.path.join(folder, (namespace or 'host') + '.json'), what)
    except OSError as err:
        raise click.ClickException('keep the baseline in {}: {}'.format(folder, err.strerror))
    click.echo('Cleared sluice counters')


def register(cli):
    """Called by SONiC's clear with its top group."""
    cli.add_command(sluice)
