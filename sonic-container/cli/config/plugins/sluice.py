"""config sluice: writes the rows of CONFIG_DB that sluiced acts on.

Every value is checked before anything is written; a row is written in one go.
"""

import click
import utilities_common.cli as clicommon
from config.validated_config_db_connector import ValidatedConfigDBConnector
from natsort import natsorted

# make generate writes this from yang/sonic-sluice.yang.
TABLES = [
    {
        "table": "SLUICE",
        "command": "global",
        "help": "What holds for the whole switch.",
        "only": "global",
        "fields": [
            {
                "name": "admin_state",
                "help": "The kill switch: disabled removes everything that Sluice has programmed.",
                "values": [
                    "enabled",
                    "disabled"
                ],
                "default": "enabled"
            },
            {
                "name": "cpu_burst",
                "help": "Burst of packets that the switch may send to the CPU.",
                "min": 1,
                "max": 1000000,
                "default": "10000"
            },
            {
                "name": "cpu_rate",
                "help": "Packets that the switch may send to the CPU.",
                "min": 1,
                "max": 10000000,
                "default": "100000"
            },
            {
                "name": "flow_capacity",
                "help": "Flows that are tracked at once.",
                "min": 1024,
                "max": 4194304,
                "default": "65536"
            },
            {
                "name": "rc_source_qp",
                "help": "The source queue pair of connected services, which is not in their packets.",
                "values": [
                    "learn",
                    "zero"
                ],
                "default": "learn"
            },
            {
                "name": "warm_restart",
                "help": "Whether what is programmed outlives a restart of the daemon.",
                "values": [
                    "enabled",
                    "disabled"
                ],
                "default": "enabled"
            }
        ]
    },
    {
        "table": "SLUICE_PORT",
        "command": "port",
        "help": "Ports that Sluice works on, and what they face.",
        "key": "name",
        "in": [
            "PORT",
            "PORTCHANNEL"
        ],
        "fields": [
            {
                "name": "flow_label",
                "help": "Whether packets that come in here are labelled; by default on edge ports only.",
                "values": [
                    "enabled",
                    "disabled"
                ]
            },
            {
                "name": "role",
                "help": "What the port faces.",
                "values": [
                    "edge",
                    "fabric",
                    "border"
                ],
                "default": "fabric"
            }
        ]
    },
    {
        "table": "SLUICE_FLOW_LABEL",
        "command": "flow-label",
        "help": "Flow labels computed from queue pairs (draft-hu).",
        "only": "global",
        "fields": [
            {
                "name": "admin_state",
                "values": [
                    "enabled",
                    "disabled"
                ],
                "default": "disabled"
            },
            {
                "name": "algorithm",
                "help": "The hash over queue pairs and addresses.",
                "values": [
                    "draft-literal",
                    "crc32"
                ],
                "default": "draft-literal"
            },
            {
                "name": "manage_switch_hash",
                "help": "Whether Sluice adds the flow label to the switch's ECMP hash fields.",
                "values": [
                    "true",
                    "false"
                ],
                "default": "false"
            },
            {
                "name": "rewrite",
                "help": "Which labels are written.",
                "values": [
                    "zero-only",
                    "always"
                ],
                "default": "zero-only"
            }
        ]
    }
]
# End of what make generate writes.

SHOWN = 8  # names that a message lists


def fail(text):
    """Ends the command with one line."""
    raise click.ClickException(text)


def allowed(field):
    """What a field takes, in words."""
    if 'values' in field:
        return 'one of ' + ', '.join(field['values'])
    return 'a decimal number, {}..{}'.format(field['min'], field['max'])


def is_good(field, value):
    """Whether the model takes a value. Numbers have no sign and no leading 0."""
    if 'values' in field:
        return value in field['values']
    if not (value.isascii() and value.isdigit()) or str(int(value)) != value:
        return False
    return field['min'] <= int(value) <= field['max']


def option(field):
    """The name of a field's option, and of the field on the command line."""
    return field['name'].replace('_', '-')


def connector(db, namespace):
    """CONFIG_DB of a namespace: of the only one, or of the ASIC that -n names."""
    asics = natsorted(name for name in db.cfgdb_clients if name)
    if not asics and namespace:
        fail('-n {}: this switch has one ASIC, leave -n out'.format(namespace))
    if asics and namespace not in asics:
        fail('-n must be one of {}'.format(', '.join(asics)))
    return ValidatedConfigDBConnector(db.cfgdb_clients[namespace or ''])


def check_key(cfgdb, table, key):
    """Refuses a key that no row of the other tables has."""
    if not key or '|' in key:
        fail('{} "{}": must not be empty, and has no |'.format(table['key'], key))
    if any(cfgdb.get_entry(other, key) for other in table['in']):
        return
    there = natsorted(str(name) for other in table['in'] for name in cfgdb.get_table(other))
    more = ', ...' if len(there) > SHOWN else ''
    fail('{} {}: no such row in {}; there are: {}{}'.format(
        table['table'], key, ' or '.join(table['in']), ', '.join(there[:SHOWN]) or 'none', more))


def write(call, *args):
    """Writes, and says in one line what the switch's own validation says."""
    try:
        call(*args)
    except Exception as err:  # the kinds differ from release to release
        fail('CONFIG_DB refuses it: {}'.format(' '.join(str(err).split())))


def set_row(db, table, namespace, key, values):
    """Writes the fields that were given; the others stay as they are."""
    for field in table['fields']:
        value = values.get(field['name'])
        if value is not None and not is_good(field, value):
            fail('{}|{} {} "{}": must be {}'.format(table['table'], key, field['name'], value, allowed(field)))
    cfgdb = connector(db, namespace)
    if 'key' in table:
        check_key(cfgdb, table, key)
    given = {name: value for name, value in values.items() if value is not None}
    if given:
        write(cfgdb.mod_entry, table['table'], key, given)
    elif 'key' not in table:
        fail('nothing to set: give one of {}'.format(', '.join('--' + option(f) for f in table['fields'])))
    elif not cfgdb.get_entry(table['table'], key):
        write(cfgdb.set_entry, table['table'], key, {})


def del_row(db, table, namespace, key, name):
    """Removes a row, or one field of it, which then has its default."""
    cfgdb = connector(db, namespace)
    row = cfgdb.get_entry(table['table'], key)
    if not row and key not in cfgdb.get_table(table['table']):
        fail('{}|{}: no such row'.format(table['table'], key))
    if name is None:
        write(cfgdb.set_entry, table['table'], key, None)
        return
    names = [option(field) for field in table['fields']]
    if name.replace('_', '-') not in names:
        fail('{}|{} has no field "{}": must be one of {}'.format(table['table'], key, name, ', '.join(names)))
    if row.pop(name.replace('-', '_'), None) is None:
        fail('{}|{} {}: is not set'.format(table['table'], key, name))
    if not row and 'key' not in table:
        row = None
    write(cfgdb.set_entry, table['table'], key, row)


def namespace_option():
    return click.Option(['-n', '--namespace'], help='The ASIC, on a switch of several.', metavar='asicN')


def set_command(table):
    """config sluice TABLE set [KEY] --field value ..."""
    @clicommon.pass_db
    def run(db, namespace=None, key=None, **values):
        set_row(db, table, namespace, key or table['only'], values)

    params = [click.Argument(['key'], metavar=table['key'].upper())] if 'key' in table else []
    for field in table['fields']:
        default = '; by default {}'.format(field['default']) if 'default' in field else ''
        params.append(click.Option(
            ['--' + option(field), field['name']], metavar='|'.join(field.get('values', ['NUMBER'])),
            help='{} {}{}.'.format(field.get('help', ''), allowed(field).capitalize(), default).strip()))
    return click.Command('set', params=params + [namespace_option()], callback=run,
                         help='Set fields of {}; the others stay as they are.'.format(table['table']))


def del_command(table):
    """config sluice TABLE del [KEY] [FIELD]"""
    @clicommon.pass_db
    def run(db, namespace=None, key=None, field=None):
        del_row(db, table, namespace, key or table['only'], field)

    params = [click.Argument(['key'], metavar=table['key'].upper())] if 'key' in table else []
    params.append(click.Argument(['field'], required=False))
    return click.Command('del', params=params + [namespace_option()], callback=run,
                         help='Remove a row of {}, or one field of it.'.format(table['table']))


@click.group(name='sluice', cls=clicommon.AliasedGroup)
def sluice():
    """Control of single RoCEv2 flows"""


for _table in TABLES:
    _group = clicommon.AliasedGroup(name=_table['command'], help=_table['help'])
    _group.add_command(set_command(_table))
    _group.add_command(del_command(_table))
    sluice.add_command(_group)


def register(cli):
    """Called by SONiC's config with its top group."""
    cli.add_command(sluice)
