# SPDX-License-Identifier: Apache-2.0
"""show sluice: what sluiced says of itself in STATE_DB and COUNTERS_DB, and
what CONFIG_DB asks of it. Reads only.
"""

import json
import os
from datetime import datetime, timedelta, timezone

import click
import utilities_common.cli as clicommon
from natsort import natsorted
from tabulate import tabulate

CONFIG_DB, STATE_DB, COUNTERS_DB = 'CONFIG_DB', 'STATE_DB', 'COUNTERS_DB'
SEPARATOR = {CONFIG_DB: '|', STATE_DB: '|', COUNTERS_DB: ':'}

# make generate writes this from yang/sonic-sluice-state.yang.
COUNTERS = {
    "SLUICE_STATS": [
        "label_written", "label_skipped", "cpu_copied", "cpu_ring_full", "cpu_policed",
        "cpu_roce", "cpu_tunnelled", "cpu_not_roce", "cpu_malformed", "cpu_queue_full",
        "cpu_new_flows", "cpu_seen_once", "flows_without_entry", "flows_refused_capacity", "flows_refused_switch",
        "flows_evicted", "loop_faults", "texts_cut", "stream_id_allocated", "stream_id_changed",
        "stream_id_failed", "stream_id_leases_lost",
    ],
    "SLUICE_IPFIX_STATS": [
        "records", "messages", "bytes", "dropped", "connects",
        "refused",
    ],
}
NUMBERS = {
    "SLUICE_STATS": [
        "cpu_flows", "stream_id_flows", "stream_id_waiting", "stream_id_conflicts",
    ],
    "SLUICE_IPFIX_STATS": [
        "waiting",
    ],
}
# End of what make generate writes.

# The fields of SLUICE_STATS:global that count up, in the order in which they are
# shown. Those of the switch outlive sluiced; the others begin at 0 with it.
OF_SWITCH = [name for name in COUNTERS['SLUICE_STATS'] if name.startswith('label_')]
OF_STREAMS = [name for name in COUNTERS['SLUICE_STATS'] if name.startswith('stream_id_')]
OF_DAEMON = [name for name in COUNTERS['SLUICE_STATS'] if name not in OF_SWITCH + OF_STREAMS]

# How many Stream IDs there are now.
STREAMS = [name for name in NUMBERS['SLUICE_STATS'] if name.startswith('stream_id_')]

# Those of SLUICE_IPFIX_STATS:name, all of the daemon.
OF_COLLECTOR = COUNTERS['SLUICE_IPFIX_STATS']

# sluiced writes its counters once a second; a switch that is slow takes seconds.
SILENCE = timedelta(seconds=30)

json_option = click.option('--json', 'as_json', is_flag=True, help='Print JSON.')
namespace_option = click.option('-n', '--namespace', metavar='asicN', help='The ASIC, on a switch of several.')


def connector(db, namespace):
    """The databases of a namespace: of the only one, or of the ASIC that -n names."""
    asics = natsorted(name for name in db.db_clients if name)
    if not asics and namespace:
        raise click.ClickException('-n {}: this switch has one ASIC, leave -n out'.format(namespace))
    if asics and namespace not in asics:
        raise click.ClickException('-n must be one of {}'.format(', '.join(asics)))
    return db.db_clients[namespace or '']


def read(client, database, table):
    """The rows of a table, by key. A row that goes meanwhile is left out."""
    prefix = table + SEPARATOR[database]
    rows = {}
    for name in client.keys(database, prefix + '*') or []:
        row = client.get_all(database, name)
        if row:
            rows[name[len(prefix):]] = {k: v for k, v in row.items() if k != 'NULL'}
    return {key: rows[key] for key in natsorted(rows)}


def only(client, database, table, key):
    """The row of a table that has one; empty where it is not there."""
    row = client.get_all(database, table + SEPARATOR[database] + key)
    return dict(row or {})


def config_errors(client):
    """The rows of CONFIG_DB that are not in force as configured."""
    rows = []
    for name, row in read(client, STATE_DB, 'SLUICE_CONFIG_ERROR').items():
        table, _, key = name.partition('|')
        rows.append(dict(row, table=table, key=key))
    return rows


def ports_of(client, name):
    """A port, or the members of a PortChannel, as a set."""
    if client.get_all(CONFIG_DB, 'PORT|' + name):
        return {name}
    members = {key.partition('|')[2] for key in read(client, CONFIG_DB, 'PORTCHANNEL_MEMBER') if key.partition('|')[0] == name}
    if not members and not client.get_all(CONFIG_DB, 'PORTCHANNEL|' + name):
        raise click.ClickException('--port {}: there is no such port or PortChannel'.format(name))
    return members


def need_daemon(state, as_json=False):
    """Without a daemon there is nothing to show to people; to programs, empty JSON."""
    if not state and not as_json:
        raise click.ClickException('sluiced has not run since the switch started: '
                                   'is the feature enabled (show feature status sluice)?')


def print_json(what):
    click.echo(json.dumps(what, indent=4, sort_keys=True))


def plain(value):
    """A value as it may be shown: what others wrote does not command the terminal."""
    return ''.join(c if c.isprintable() else '\N{MIDDLE DOT}' for c in str('' if value is None else value))


def print_pairs(pairs):
    click.echo(tabulate([(name, plain(value)) for name, value in pairs if value not in ('', None)],
                        tablefmt='plain', disable_numparse=True))


def print_table(header, rows):
    click.echo(tabulate([[plain(value) for value in row] for row in rows], header, tablefmt='simple', disable_numparse=True))


def silent_since(client, state):
    """When sluiced was heard of last, where that is too long ago: it was killed, or hangs."""
    heard = only(client, COUNTERS_DB, 'SLUICE_STATS', 'global').get('read_time', '')
    if not heard or state.get('state') == 'starting':
        return None
    try:
        at = datetime.strptime(heard.partition('.')[0].rstrip('Z'), '%Y-%m-%dT%H:%M:%S').replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return heard if datetime.now(timezone.utc) - at > SILENCE else None


def baseline(namespace):
    """What `clear sluice counters` kept; nothing where it was not called."""
    path = os.path.join(clicommon.UserCache('sluice').get_directory(), (namespace or 'host') + '.json')
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def since_cleared(row, base, name, started):
    """The counters of a row of COUNTERS_DB since they were cleared.

    A counter that is lower than its baseline began at 0 again, and so did all of the
    daemon's if it started meanwhile: then nothing is taken off.
    """
    then = base.get('counters', {}).get(name, {})
    counters = {}
    for field in OF_SWITCH + OF_DAEMON + OF_STREAMS + OF_COLLECTOR:
        if field not in row:
            continue
        now, before = int(row[field]), int(then.get(field, 0))
        restarted = now < before or (field not in OF_SWITCH and base.get('since') != started)
        counters[field] = now if restarted else now - before
    return counters


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
@json_option
@namespace_option
@clicommon.pass_db
def status(db, as_json, namespace):
    """What sluiced is doing, and which rows are not in force"""
    client = connector(db, namespace)
    state, errors = only(client, STATE_DB, 'SLUICE_STATE', 'global'), config_errors(client)
    need_daemon(state, as_json)
    silent = silent_since(client, state)
    if as_json:
        print_json(dict({'state': state, 'config_errors': errors}, **({'silent_since': silent} if silent else {})))
        return
    method = state.get('flow_label_method')
    label = state.get('flow_label', '') + (' ({})'.format(method) if method else '')
    print_pairs([
        ('state', state.get('state')), ('flow label', label), ('driver', state.get('driver')),
        ('objects', state.get('objects')), ('flows', state.get('flows')), ('stream ids', state.get('stream_ids')),
        ('pfcm', state.get('pfcm')), ('holds', state.get('holds') if state.get('pfcm') == 'active' else None),
        ('version', state.get('version')), ('since', state.get('since')),
    ] + ([('warning', 'this is old: sluiced has said nothing since {}'.format(silent))] if silent else []) + [
        ('warning', text) for text in state.get('warnings', '').split('; ')
    ] + [
        ('last error', state.get('last_error')), ('', state.get('last_error_time')),
    ])
    if errors:
        click.echo('\nRows that are not in force:\n')
        print_table(['Table', 'Key', 'Field', 'Value', 'Reason'],
                    [[e['table'], e['key'], e.get('field', ''), e.get('value', ''), e.get('reason', '')] for e in errors])


@sluice.command()
@json_option
@namespace_option
@clicommon.pass_db
def capability(db, as_json, namespace):
    """The method that the switch uses, and why no preferred one"""
    row = only(connector(db, namespace), STATE_DB, 'SLUICE_CAPABILITY', 'switch')
    need_daemon(row, as_json)
    if as_json:
        print_json(row)
        return
    needs = sorted(field[:-len('_method')] for field in row if field.endswith('_method'))
    print_table(['Need', 'Method', 'State', 'Reason'],
                [[need.replace('_', ' ')] + [row.get(need + what, '') for what in ('_method', '_state', '_reason')] for need in needs])
    if 'flow_label_ipv4' in row:
        click.echo('\nRoCEv2 over IPv4: ' + plain(row['flow_label_ipv4']))


@sluice.command(name='flow-label')
@json_option
@namespace_option
@clicommon.pass_db
def flow_label(db, as_json, namespace):
    """Flow labels: what is configured, and what became of packets"""
    client = connector(db, namespace)
    state = only(client, STATE_DB, 'SLUICE_STATE', 'global')
    need_daemon(state, as_json)
    config = only(client, CONFIG_DB, 'SLUICE_FLOW_LABEL', 'global')
    ports = read(client, CONFIG_DB, 'SLUICE_PORT')
    labelled = [name for name, row in ports.items()
                if row.get('flow_label', 'enabled' if row.get('role') == 'edge' else 'disabled') == 'enabled']
    row = only(client, COUNTERS_DB, 'SLUICE_STATS', 'global')
    counters = since_cleared(row, baseline(namespace), 'SLUICE_STATS:global', state.get('since'))
    if as_json:
        print_json({'flow_label': state.get('flow_label'), 'method': state.get('flow_label_method'),
                    'config': config, 'ports': labelled, 'counters': counters})
        return
    print_pairs([('flow label', state.get('flow_label')), ('method', state.get('flow_label_method'))] +
                sorted((name.replace('_', ' '), value) for name, value in config.items() if name != 'NULL') +
                [('ports', ', '.join(labelled) or 'none')])
    # Where labels are computed by the switch and nothing is exported the CPU sees no packets.
    shown = OF_SWITCH + (OF_DAEMON if any(int(row.get(name, 0)) for name in OF_DAEMON) else [])
    if counters:
        click.echo()
        print_table(['Counter', 'Value'], [[name.replace('_', ' '), counters[name]] for name in shown if name in counters])


@sluice.command()
@json_option
@namespace_option
@clicommon.pass_db
def placement(db, as_json, namespace):
    """Labels that are chosen: groups of next hops, and how even they are"""
    client = connector(db, namespace)
    state = only(client, STATE_DB, 'SLUICE_STATE', 'global')
    need_daemon(state, as_json)
    groups, members = read(client, STATE_DB, 'SLUICE_PLACEMENT_GROUP'), read(client, STATE_DB, 'SLUICE_PLACEMENT_MEMBER')
    if as_json:
        print_json({'placement': state.get('placement'), 'reason': state.get('placement_reason'),
                    'config': only(client, CONFIG_DB, 'SLUICE_PLACEMENT', 'global'),
                    'fabric': only(client, STATE_DB, 'SLUICE_PLACEMENT_FABRIC', 'global'),
                    'groups': list(groups.values()), 'members': list(members.values())})
        return
    method = only(client, STATE_DB, 'SLUICE_CAPABILITY', 'switch').get('placement_method')
    fabric = only(client, STATE_DB, 'SLUICE_PLACEMENT_FABRIC', 'global')
    print_pairs([('placement', state.get('placement') or 'disabled'), ('method', method), ('reason', state.get('placement_reason')),
                 ('scope', fabric.get('scope')), ('why local', fabric.get('reason')), ('this leaf', fabric.get('leaf')),
                 ('planner', fabric.get('planner')), ('plan', fabric.get('plan')), ('leaves', fabric.get('leaves')),
                 ('rows not used', fabric.get('rows_aside'))])
    if state.get('placement') == 'active' and not groups:
        click.echo('\nNo flow that is placed goes to a group of several next hops.')
        return
    if not groups:
        return
    click.echo()
    print_table(['Next hops', 'State', 'Model', 'Flows', 'Worst/mean', 'By hash', 'Floor', 'Moves', 'Waiting', 'Error %'],
                [[name] + [row.get(field, '-') for field in ('state', 'model', 'flows', 'worst_over_mean', 'hash_worst_over_mean',
                                                             'floor', 'moves', 'waiting', 'model_error_percent')]
                 for name, row in groups.items()])
    for name, row in groups.items():
        if row.get('reason'):
            click.echo('{}: {}'.format(plain(name), plain(row['reason'])))
    click.echo()
    print_table(['Next hops', 'Port', 'Weight', 'Flows', 'Predicted Mbit/s', 'Measured', 'By hash'],
                [[row.get('group'), row.get('name'), row.get('weight'), row.get('flows')] +
                 [mbps(row.get(field)) for field in ('predicted_rate', 'measured_rate', 'hash_rate')] for row in members.values()])


def mbps(octets):
    """A rate in octets a second as Mbit/s."""
    return '{:.1f}'.format(int(octets) * 8 / 1e6) if str(octets or '').isdigit() else '-'


@sluice.command(epilog='Example: show sluice flows --top 10 --json')
@click.option('--top', type=click.IntRange(min=1), metavar='N', help='The N heaviest only.')
@click.option('--port', metavar='NAME', help='Those that come in or leave by a port, or a PortChannel.')
@click.option('--congested', is_flag=True, help='Those that fill a queue, or are held, the fullest first.')
@json_option
@namespace_option
@clicommon.pass_db
def flows(db, top, port, congested, as_json, namespace):
    """Flows that have an entry on the switch, the heaviest first"""
    client = connector(db, namespace)
    rows = read(client, STATE_DB, 'SLUICE_FLOW')
    if congested:
        congested_flows(client, rows, top, port, as_json)
        return
    known = len(rows)
    if port:
        names = ports_of(client, port)
        rows = {key: row for key, row in rows.items() if names & {row.get('ingress_port'), row.get('egress_port')}}
    heavy = sorted(rows.values(), key=lambda row: int(row.get('bytes', 0)), reverse=True)[:top]
    if as_json:
        print_json(heavy)
        return
    if known and not rows:
        click.echo('No flows: none of the {} is seen at {}.'.format(known, port))
        return
    if not rows:
        method = only(client, STATE_DB, 'SLUICE_STATE', 'global').get('flow_label_method')
        if method and method != 'rewrite' and only(client, STATE_DB, 'SLUICE_CAPABILITY', 'switch').get('placement_method') != 'entries':
            click.echo('No flows: with the method {} the switch keeps none, only with rewrite it does.'.format(method))
        else:
            click.echo('No flows.')
        return
    ports = [(name, field) for name, field in (('In', 'ingress_port'), ('Out', 'egress_port')) if any(field in row for row in heavy)]
    print_table(['Source', 'Destination', 'DestQP', 'Label', 'Stream', 'Packets', 'Bytes'] + [name for name, _ in ports],
                [[row.get('src'), row.get('dst'), '0x{:06x}'.format(int(row.get('dest_qp', 0))), '0x{:05x}'.format(int(row.get('flow_label', 0))),
                  row.get('stream_id', '-'), row.get('packets'), row.get('bytes')] +
                 [row.get(field, '') for _, field in ports] for row in heavy])
    if len(heavy) < len(rows):
        click.echo('\n{} of {} flows'.format(len(heavy), len(rows)))


def congested_flows(client, rows, top, port, as_json):
    rows = [row for row in rows.values() if row.get('state') in ('congested', 'held')]
    if port:
        names = ports_of(client, port)
        rows = [row for row in rows if names & {row.get('ingress_port'), row.get('egress_port')}]
    full = sorted(rows, key=lambda row: int(row.get('queue_bytes', 0)), reverse=True)[:top]
    if as_json:
        print_json(full)
        return
    if not full:
        click.echo('No flow is congested or held.')
        return
    print_table(['Source', 'Destination', 'DestQP', 'Stream', 'State', 'Since', 'Out', 'Queue', 'Bytes in queue', 'In', 'Told'],
                [[row.get('src'), row.get('dst'), '0x{:06x}'.format(int(row.get('dest_qp', 0))), row.get('stream_id', '-'), row.get('state'),
                  row.get('since', ''), row.get('egress_port', ''), row.get('queue', ''), row.get('queue_bytes', '-'),
                  row.get('ingress_port', ''), row.get('told', '-')] for row in full])
    if len(full) < len(rows):
        click.echo('\n{} of {} flows'.format(len(full), len(rows)))


@sluice.command()
@json_option
@namespace_option
@clicommon.pass_db
def holds(db, as_json, namespace):
    """Flows that are held here: by whom, why, until when"""
    client = connector(db, namespace)
    state = only(client, STATE_DB, 'SLUICE_STATE', 'global')
    need_daemon(state, as_json)
    rows = list(read(client, STATE_DB, 'SLUICE_HOLD').values())
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo('Nothing is held.' if state.get('pfcm') == 'active' else
                   'Nothing is held: PFCM is {}{}.'.format(state.get('pfcm', 'disabled'),
                                                            ', ' + plain(state['pfcm_reason']) if state.get('pfcm_reason') else ''))
        return
    print_table(['By', 'Port', 'Queue', 'Stream', 'Source', 'Destination', 'State', 'Action', 'Since', 'Until', 'Packets', 'Waiting', 'Dropped'],
                [[row.get('from'), row.get('port'), row.get('queue'), row.get('stream_id'), row.get('src', '-'), row.get('dst', '-'), row.get('state'),
                  'pause' if row.get('action') == 'pause' else 'reduce {} %'.format(row.get('reduction', '?')),
                  row.get('since'), row.get('until'), row.get('packets', '-'), row.get('waiting_bytes', '-'), row.get('dropped', '-')] for row in rows])


@sluice.command()
@click.option('--all', 'everything', is_flag=True, help='Counters that are 0, too.')
@json_option
@namespace_option
@clicommon.pass_db
def notifications(db, everything, as_json, namespace):
    """Notifications that were sent, obeyed and dropped, and how fast"""
    client = connector(db, namespace)
    state = only(client, STATE_DB, 'SLUICE_STATE', 'global')
    need_daemon(state, as_json)
    rows = read(client, COUNTERS_DB, 'SLUICE_NOTIFY_STATS')
    if as_json:
        print_json(rows)
        return
    features = [(feature.replace('_', '-'), state.get(feature, 'disabled')) for feature in ('pfcm', 'ppfc', 'rate_advice')]
    print_pairs(features + [('reason', state.get('pfcm_reason')), ('holds', state.get('holds'))])
    if not rows:
        return
    times = [(message, name) for message, row in rows.items() for name in ('reaction', 'enforce', 'release_error') if row.get(name + '_us_n', '0') != '0']
    if times:
        click.echo()
        print_table(['Time (us)', 'n', 'p50', 'p99', 'p99.9', 'max'],
                    [[message + ' ' + name.replace('_', ' ')] + [rows[message].get(name + '_us_' + part, '-') for part in ('n', 'p50', 'p99', 'p999', 'max')]
                     for message, name in times])
    counters = sorted({name for row in rows.values() for name, value in row.items() if '_us_' not in name and (everything or value != '0')})
    if counters:
        click.echo()
        print_table(['Counter'] + list(rows), [[name.replace('_', ' ')] + [row.get(name, '') for row in rows.values()] for name in counters])


@sluice.command(name='stream-ids')
@json_option
@namespace_option
@clicommon.pass_db
def stream_ids(db, as_json, namespace):
    """Where the Stream IDs of flows come from, and how many have one"""
    client = connector(db, namespace)
    state = only(client, STATE_DB, 'SLUICE_STATE', 'global')
    need_daemon(state, as_json)
    config = {name: value for name, value in only(client, CONFIG_DB, 'SLUICE', 'global').items() if name.startswith(('stream_id', 'etcd'))}
    row = only(client, COUNTERS_DB, 'SLUICE_STATS', 'global')
    counts = {name: int(row[name]) for name in STREAMS if name in row}
    counters = since_cleared(row, baseline(namespace), 'SLUICE_STATS:global', state.get('since'))
    counts.update((name, counters[name]) for name in OF_STREAMS if name in counters)
    if as_json:
        print_json({'stream_ids': state.get('stream_ids', ''), 'config': config, 'counters': counts})
        return
    print_pairs([('stream ids', state.get('stream_ids', 'none'))] +
                sorted((name.rstrip('@').replace('_', ' '), value) for name, value in config.items()) +
                [('warning', text) for text in state.get('warnings', '').split('; ') if text.startswith('stream ids: ')])
    if counts:
        click.echo()
        print_table(['Counter', 'Value'], [[name.replace('_', ' '), value] for name, value in counts.items()])


@sluice.command()
@json_option
@namespace_option
@clicommon.pass_db
def ipfix(db, as_json, namespace):
    """The collectors, and what was sent to each"""
    client = connector(db, namespace)
    state = only(client, STATE_DB, 'SLUICE_STATE', 'global')
    need_daemon(state, as_json)
    base, collectors = baseline(namespace), {}
    for name, row in read(client, COUNTERS_DB, 'SLUICE_IPFIX_STATS').items():
        collectors[name] = dict(row, **since_cleared(row, base, 'SLUICE_IPFIX_STATS:' + name, state.get('since')))
    if as_json:
        print_json(collectors)
        return
    if not collectors:
        click.echo('No collector is exported to: SLUICE_IPFIX|global is not enabled, or there is no collector.')
        return
    fields = ['connected', 'records', 'waiting', 'dropped', 'messages', 'bytes', 'last_error']
    print_table(['Collector'] + [field.replace('_', ' ').capitalize() for field in fields],
                [[name] + [row.get(field, '') for field in fields] for name, row in collectors.items()])


@sluice.command()
@json_option
@namespace_option
@clicommon.pass_db
def config(db, as_json, namespace):
    """The rows of CONFIG_DB, and whether they are in force"""
    client = connector(db, namespace)
    wrong = {(e['table'], e['key']) for e in config_errors(client)}
    tables, names = {}, client.keys(CONFIG_DB, 'SLUICE*') or []
    for table in sorted({name.partition('|')[0] for name in names}):
        if table == 'SLUICE' or table.startswith('SLUICE_'):
            tables[table] = read(client, CONFIG_DB, table)
    if as_json:
        print_json(tables)
        return
    lines = []
    for table, rows in tables.items():
        for key, row in rows.items():
            force = 'no: show sluice status' if (table, key) in wrong else 'yes'
            fields = sorted(row.items()) or [('', '')]
            for i, (name, value) in enumerate(fields):
                lines.append([table, key, name, value, force] if i == 0 else ['', '', name, value, ''])
    print_table(['Table', 'Key', 'Field', 'Value', 'In force'], lines)


def register(cli):
    """Called by SONiC's show with its top group."""
    cli.add_command(sluice)
