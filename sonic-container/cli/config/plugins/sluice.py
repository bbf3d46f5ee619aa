# SPDX-License-Identifier: Apache-2.0
"""config sluice: writes the rows of CONFIG_DB that sluiced acts on.

Every value is checked before anything is written; a row is written in one go.
"""

import ipaddress
import re

import click
import utilities_common.cli as clicommon
from config.validated_config_db_connector import ValidatedConfigDBConnector
from natsort import natsorted

# make generate writes this from yang/sonic-sluice.yang.
TABLES = [
    {"table":"SLUICE","command":"global","help":"Settings of the whole switch.","only":"global","fields":[
        {"name":"admin_state","type":"values","help":"The kill switch: disabled removes everything that Sluice has programmed.","values":["enabled","disabled"],"default":"enabled"},
        {"name":"cpu_burst","type":"number","help":"Burst of packets that the switch may send to the CPU.","min":1,"max":1000000,"default":"10000"},
        {"name":"cpu_rate","type":"number","help":"Packets that the switch may send to the CPU.","min":1,"max":10000000,"default":"100000"},
        {"name":"driver","type":"values","help":"Interface to the switch.","values":["sai","orchagent"],"default":"sai"},
        {"name":"etcd_allow_plaintext","type":"values","help":"Whether the password may be sent to etcd_endpoints of http, where everybody on the way reads it.","values":["true","false"],"default":"false"},
        {"name":"etcd_ca_file","type":"string","help":"PEM file of the CAs that may have signed the certificates of etcd's members.","min":1,"max":4096},
        {"name":"etcd_cert_file","type":"string","help":"PEM file of this switch's certificate for etcd.","min":1,"max":4096},
        {"name":"etcd_endpoints","type":"endpoint","help":"Members of the etcd cluster of scope global.","pattern":"https?://([A-Za-z0-9._\\-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}","most":9},
        {"name":"etcd_key_file","type":"string","help":"PEM file of this switch's key for etcd.","min":1,"max":4096},
        {"name":"etcd_password_file","type":"string","help":"File whose first line is the user's password.","min":1,"max":4096},
        {"name":"etcd_user","type":"string","help":"User of etcd.","min":1,"max":255},
        {"name":"flow_capacity","type":"number","help":"Flows that are tracked at once; with the method rewrite, those that have an entry on the switch.","min":1024,"max":4194304,"default":"65536"},
        {"name":"rc_source_qp","type":"values","help":"The source queue pair of connected services, which is not in their packets.","values":["learn","zero"],"default":"learn"},
        {"name":"router_id","type":"ip-address","help":"Address that names this switch in IPv4 messages, and their source.","family":4},
        {"name":"router_id_v6","type":"ip-address","help":"Address that names this switch in IPv6 messages, and their source.","family":6},
        {"name":"stream_id_domain","type":"string","help":"Whose flows share the ids of scope global: all nodes that name the same domain.","min":1,"max":64,"pattern":"[A-Za-z0-9_.\\-]+","default":"default"},
        {"name":"stream_id_scope","type":"values","help":"Where Stream IDs of PFCM come from.","values":["hash","local","global"],"default":"hash"},
        {"name":"stream_id_seed","type":"number","help":"Seed of scope hash, and of the id that scope global tries first; the same on both ends of a hop.","min":0,"max":4294967295,"default":"0"},
        {"name":"warm_restart","type":"values","help":"Whether what is programmed outlives a restart of the daemon.","values":["enabled","disabled"],"default":"enabled"}],
     "rules":["stream_id_scope global needs etcd_endpoints","etcd_endpoints must be all http, or all https","etcd_ca_file is needed with etcd_endpoints of https, and is for them only","etcd_cert_file and etcd_key_file go together","etcd_cert_file needs etcd_ca_file, and etcd_endpoints of https","etcd_user and etcd_password_file go together"]},
    {"table":"SLUICE_PORT","command":"port","help":"Ports that Sluice works on, and what they face.","key":
        {"name":"name","type":"string","help":"A port, or a PortChannel; it applies to all members."},"in":["PORT","PORTCHANNEL"],"fields":[
        {"name":"flow_label","type":"values","help":"Whether packets that come in here are labelled; by default on edge ports only.","values":["enabled","disabled"]},
        {"name":"role","type":"values","help":"What the port faces.","values":["edge","fabric","border"],"default":"fabric"},
        {"name":"threshold","type":"string","help":"The per-flow threshold of packets that leave here.","min":1,"max":64,"pattern":"[A-Za-z0-9_.\\-]+"},
        {"name":"upstream_neighbor","type":"ip-address","help":"Link-local address of the neighbor that gets PFCM; by default the one learned.","family":6}],
     "rules":["upstream_neighbor must be a link-local IPv6 address (fe80::/10)"]},
    {"table":"SLUICE_FLOW_LABEL","command":"flow-label","help":"Flow labels computed from queue pairs (draft-hu).","only":"global","fields":[
        {"name":"admin_state","type":"values","values":["enabled","disabled"],"default":"disabled"},
        {"name":"algorithm","type":"values","help":"The hash over queue pairs and addresses.","values":["draft-literal","crc32"],"default":"draft-literal"},
        {"name":"manage_switch_hash","type":"values","help":"Whether Sluice adds the flow label to the switch's ECMP hash fields.","values":["true","false"],"default":"false"},
        {"name":"rewrite","type":"values","help":"Which labels are written.","values":["zero-only","always"],"default":"zero-only"},
        {"name":"tunnels","type":"values","help":"What is written of RoCEv2 in IPv6 tunnels (SRv6).","values":["skip","outer"],"default":"skip"}]},
    {"table":"SLUICE_PLACEMENT","command":"placement","help":"Labels that are chosen so that ECMP's paths fill evenly.","only":"global","fields":[
        {"name":"admin_state","type":"values","values":["enabled","disabled"],"default":"disabled"},
        {"name":"hash_seed","type":"number","help":"Seed of the switch's ECMP hash, of model linux; by default a number made of the host's name and the router ids. Give switches of different tiers different ones.","min":1,"max":4294967295},
        {"name":"idle_us","type":"number","help":"A flow of which nothing came for so long is idle: longer than packets of it wait on any path.","min":1000,"max":10000000,"default":"50000"},
        {"name":"max_moves","type":"number","help":"Flows that move at once, at most.","min":1,"max":1024,"default":"64"},
        {"name":"model","type":"values","help":"How the path of a label is predicted.","values":["auto","linux","learned"],"default":"auto"},
        {"name":"moves","type":"values","help":"Which flows may get another label while they have one; never one that is held.","values":["idle","any","never"],"default":"idle"},
        {"name":"sampling_rate","type":"number","help":"With the method entries, one of this many packets shows the CPU which flows are large, unless SLUICE_IPFIX samples.","min":1,"max":4294967295,"default":"256"},
        {"name":"scope","type":"values","help":"For which links paths are to fill evenly. Without etcd, or a plan, fabric is as local.","values":["local","fabric"],"default":"local"},
        {"name":"threshold_percent","type":"number","help":"Flows move while the path with most load is so much above the mean.","min":1,"max":100,"default":"5"}]},
    {"table":"SLUICE_THRESHOLD","command":"threshold","help":"Per-flow thresholds of an egress queue.","key":
        {"name":"name","type":"string","min":1,"max":64,"pattern":"[A-Za-z0-9_.\\-]+"},"fields":[
        {"name":"action","type":"values","help":"What the upstream node is asked to do.","values":["pause","reduce"],"default":"pause"},
        {"name":"average_us","type":"number","help":"Time constant over which the depth is averaged; 0: none.","min":0,"max":1000000,"default":"0"},
        {"name":"duration_us","type":"number","help":"For how long the upstream node is asked to hold the flow, at most: it is asked again at half of it, and told when the flow has drained.","min":1,"max":65535,"default":"40000"},
        {"name":"high_bytes","type":"number","help":"High-water mark: a flow that keeps more in the queue is congested.","min":1,"max":18446744073709551615},
        {"name":"low_bytes","type":"number","help":"Low-water mark: a congested flow that keeps less is not any more; by default half the high one.","min":0,"max":18446744073709551615},
        {"name":"queues","type":"number","help":"Egress queues that the threshold is for; by default all.","min":0,"max":7,"most":8},
        {"name":"reduction","type":"number","help":"By how much the rate is to be reduced, of what it was when the hold began.","min":1,"max":63,"default":"50"}],"needs":["high_bytes"],
     "rules":["low_bytes must be less than high_bytes"]},
    {"table":"SLUICE_PFCM","command":"pfcm","help":"PFCM: per-flow notifications to the upstream neighbor (draft-yang).","only":"global","fields":[
        {"name":"admin_state","type":"values","values":["enabled","disabled"],"default":"disabled"},
        {"name":"encapsulation","type":"values","help":"The form in which PFCM is sent; every form is received.","values":["icmpv6","hop-by-hop","destination-options"],"default":"icmpv6"},
        {"name":"enforce","type":"values","help":"Whether received PFCM is obeyed.","values":["true","false"],"default":"true"},
        {"name":"generate","type":"values","help":"Whether PFCM is sent when a flow passes its threshold.","values":["true","false"],"default":"true"},
        {"name":"hold_limit_ms","type":"number","help":"A neighbor that holds a flow for so long without an end is ignored about it as long, and the flow goes on: as SONiC's watchdog does with PFC. 0: no limit.","min":0,"max":60000,"default":"400"},
        {"name":"icmpv6_code","type":"number","min":0,"max":255,"default":"0"},
        {"name":"icmpv6_type","type":"number","help":"ICMPv6 type; 200 is for private experimentation (RFC 4443).","min":0,"max":255,"default":"200"},
        {"name":"option_type","type":"number","help":"Option type; 0x1e is for experiments (RFC 4727). Nodes that do not know it skip it and leave it as it is.","min":2,"max":31,"default":"30"},
        {"name":"require_mark","type":"number","help":"Messages are obeyed only with this mark, which IPsec's state sets (docs/security.md); by default none is demanded.","min":1,"max":4294967295},
        {"name":"rx_burst","type":"number","help":"Burst of messages that are taken.","min":1,"max":1000000,"default":"1000"},
        {"name":"rx_rate","type":"number","help":"Messages that are taken from all sources together.","min":1,"max":10000000,"default":"10000"},
        {"name":"rx_rate_per_source","type":"number","help":"Messages that are taken from one source.","min":1,"max":10000000,"default":"2000"},
        {"name":"translate_pfc","type":"values","help":"Whether a pause becomes a PFC frame on border ports, towards switches that know no PFCM.","values":["true","false"],"default":"false"},
        {"name":"tx_rate","type":"number","help":"Messages that ask to hold a flow are sent at this rate at most, in bursts of a tenth of it. What ends a hold is always sent.","min":1,"max":10000000,"default":"10000"},
        {"name":"unknown_stream","type":"values","help":"What happens when no flow has the Stream ID of a message.","values":["ignore","pair"],"default":"ignore"}]},
    {"table":"SLUICE_PPFC","command":"ppfc","help":"PPFC: per-flow notifications to the ingress gateway (draft-xz).","only":"global","fields":[
        {"name":"admin_state","type":"values","values":["enabled","disabled"],"default":"disabled"},
        {"name":"client_message","type":"values","help":"What a gateway tells the client in RoCEv2's own form.","values":["none","rate-advice","cnp"],"default":"none"},
        {"name":"icmpv4_code","type":"number","min":0,"max":255,"default":"0"},
        {"name":"icmpv4_type","type":"number","min":0,"max":255,"default":"253"},
        {"name":"icmpv6_code","type":"number","min":0,"max":255,"default":"0"},
        {"name":"icmpv6_type","type":"number","help":"ICMPv6 type, another than that of SLUICE_PFCM; 201 is for private experimentation (RFC 4443).","min":0,"max":255,"default":"201"},
        {"name":"priority_source","type":"values","help":"What the message's Priority is.","values":["dscp","queue"],"default":"dscp"},
        {"name":"require_mark","type":"number","help":"Messages are obeyed only with this mark, which IPsec's state sets (docs/security.md); by default none is demanded.","min":1,"max":4294967295},
        {"name":"rx_burst","type":"number","help":"Burst of messages that are taken.","min":1,"max":1000000,"default":"1000"},
        {"name":"rx_rate","type":"number","help":"Messages that are taken from all senders together.","min":1,"max":10000000,"default":"10000"},
        {"name":"transport","type":"values","help":"The form in which PPFC is sent; both are received.","values":["icmp","udp"],"default":"icmp"},
        {"name":"udp_port","type":"number","help":"UDP destination port; 1021 is for experiments (RFC 4727), 4791 is RoCEv2.","min":1,"max":65535,"ranges":[[1,4790],[4792,65535]],"default":"1021"}]},
    {"table":"SLUICE_PPFC_GATEWAY","command":"ppfc-gateway","help":"Which gateway serves the sources in a prefix; with this switch's router_id as gateway, this switch serves them.","key":
        {"name":"prefix","type":"ip-prefix"},"fields":[
        {"name":"gateway","type":"ip-address","help":"Router id of the gateway."}],"needs":["gateway"],
     "rules":["gateway and prefix must be of one address family"]},
    {"table":"SLUICE_PPFC_PEER","command":"ppfc-peer","help":"Who may send PPFC to this switch.","key":
        {"name":"prefix","type":"ip-prefix"},"fields":[]},
    {"table":"SLUICE_RATE_ADVICE","command":"rate-advice","help":"Rate Advice to the sender of a flow (draft-zz).","only":"global","fields":[
        {"name":"admin_state","type":"values","values":["enabled","disabled"],"default":"disabled"},
        {"name":"capability","type":"values","help":"Who is known to understand Rate Advice.","values":["list","bit"],"default":"list"},
        {"name":"capability_mask","type":"number","help":"The bit, in the low 6 bits of BTH octet 4.","min":1,"max":63,"default":"1"},
        {"name":"destination_qp","type":"values","help":"Which queue pair the message names.","values":["learned","copy"],"default":"learned"},
        {"name":"interval_ms","type":"number","help":"Between two messages for one flow.","min":1,"max":60000,"default":"10"},
        {"name":"lifetime_intervals","type":"number","help":"For how many intervals an advice holds.","min":1,"max":100,"default":"3"},
        {"name":"min_rate_mbps","type":"number","help":"No rate below this is advised.","min":1,"max":4294967295,"default":"100"},
        {"name":"opcode","type":"number","help":"BTH opcode, one of the manufacturers' (0xc0..0xff), or the draft's example 0x1d, which is RC ATOMIC WRITE.","min":29,"max":255,"ranges":[[29,29],[192,255]],"default":"197"},
        {"name":"rtt_us","type":"number","help":"Round-trip time to the farthest sender: a target below one bandwidth-delay product is warned of.","min":1,"max":10000000},
        {"name":"source","type":"values","help":"IP source address of the message.","values":["node","receiver"],"default":"node"},
        {"name":"target_bytes","type":"number","help":"Queue depth that the advised rate aims at.","min":1,"max":18446744073709551615,"default":"100000"},
        {"name":"target_delay_us","type":"number","help":"Queuing delay that the advised rate aims at.","min":1,"max":1000000,"default":"50"}]},
    {"table":"SLUICE_RATE_ADVICE_HOST","command":"rate-advice-host","help":"Who may receive Rate Advice.","key":
        {"name":"prefix","type":"ip-prefix"},"fields":[]},
    {"table":"SLUICE_RATE_POLICY","command":"rate-policy","help":"Rates by policy: the lowest one of those that match a flow is advised.","key":
        {"name":"name","type":"string","min":1,"max":64,"pattern":"[A-Za-z0-9_.\\-]+"},"fields":[
        {"name":"dscp","type":"number","help":"DSCP that it is for; by default all.","min":0,"max":63},
        {"name":"dst_prefix","type":"ip-prefix","help":"Destinations that it is for; by default all."},
        {"name":"rate_mbps","type":"number","min":1,"max":4294967295},
        {"name":"src_prefix","type":"ip-prefix","help":"Sources that it is for; by default all."}],"needs":["rate_mbps"],
     "rules":["src_prefix and dst_prefix must be of one address family"]},
    {"table":"SLUICE_IPFIX","command":"ipfix","help":"IPFIX export of RoCEv2 flows (draft-lin).","only":"global","fields":[
        {"name":"active_timeout_s","type":"number","min":1,"max":604800,"default":"60"},
        {"name":"admin_state","type":"values","values":["enabled","disabled"],"default":"disabled"},
        {"name":"element_ids","type":"number","help":"With pen 0, the element ids that IANA assigned to rdmaOpCode, rdmaPartitionKey, rdmaDestinationQP, rdmaSourceQP, rdmaPacketSequenceNumber, rdmaBTHFlags1, rdmaBTHFlags2 and rdmaBTHFlags3, in this order.","min":534,"max":32767,"most":8},
        {"name":"first_element_id","type":"number","help":"Element id of rdmaOpCode under an enterprise number, 1 by default; the other elements follow.","min":1,"max":32758},
        {"name":"flags","type":"values","help":"What the flag elements of a flow record are.","values":["last","or"],"default":"last"},
        {"name":"idle_timeout_s","type":"number","min":1,"max":604800,"default":"15"},
        {"name":"mode","type":"values","help":"What a record is of.","values":["flow","packet","biflow"],"default":"flow"},
        {"name":"observation_domain","type":"number","min":0,"max":4294967295,"default":"1"},
        {"name":"pen","type":"number","help":"Private enterprise number of the RDMA elements; 32473 is for documentation (RFC 5612), 0 once IANA has assigned them.","min":0,"max":4294967295,"default":"32473"},
        {"name":"sampling_rate","type":"number","help":"One of this many packets is sampled. An ASIC takes 256 or more: less would drown its CPU.","min":1,"max":4294967295,"default":"1"},
        {"name":"template_refresh_packets","type":"number","help":"Templates are sent again over UDP and DTLS after so many messages.","min":1,"max":4294967295,"default":"4096"},
        {"name":"template_refresh_s","type":"number","help":"Templates are sent again over UDP after this time; sessions over DTLS are renewed.","min":1,"max":86400,"default":"600"}],
     "rules":["first_element_id is for an enterprise number: with pen 0 give the eight ids that IANA assigned in element_ids","element_ids are eight with pen 0, as IANA assigned them, and for pen 0 only"]},
    {"table":"SLUICE_IPFIX_COLLECTOR","command":"ipfix-collector","help":"Where IPFIX goes.","key":
        {"name":"name","type":"string","min":1,"max":64,"pattern":"[A-Za-z0-9_.\\-]+"},"fields":[
        {"name":"address","type":"ip-address"},
        {"name":"ca_file","type":"string","help":"PEM file of the CAs that may have signed the collector's certificate.","min":1,"max":4096},
        {"name":"cert_file","type":"string","help":"PEM file of this switch's certificate.","min":1,"max":4096},
        {"name":"key_file","type":"string","help":"PEM file of this switch's key.","min":1,"max":4096},
        {"name":"path_mtu","type":"number","help":"Messages over UDP and DTLS fit into it.","min":512,"max":65535,"default":"1280"},
        {"name":"port","type":"number","help":"By default 4739, with TLS and DTLS 4740.","min":1,"max":65535},
        {"name":"transport","type":"values","values":["udp","tcp","tls","dtls"],"default":"udp"}],"needs":["address"],
     "rules":["ca_file is needed with transport tls and dtls, and is for them only","cert_file and key_file go together"]}
]
# End of what make generate writes.

SHOWN = 8  # names that a message lists

# What the rules of the model mean, by their messages. A field that is not set has
# its default.
RULES = {
    'ca_file is needed with transport tls and dtls, and is for them only':
        lambda row: (row.get('transport') in ('tls', 'dtls')) == ('ca_file' in row),
    'cert_file and key_file go together':
        lambda row: ('cert_file' in row) == ('key_file' in row),
    'gateway and prefix must be of one address family':
        lambda row: version_of(row.get('gateway')) == version_of(row.get('prefix')),
    'src_prefix and dst_prefix must be of one address family':
        lambda row: 'src_prefix' not in row or 'dst_prefix' not in row or version_of(row['src_prefix']) == version_of(row['dst_prefix']),
    'low_bytes must be less than high_bytes':
        lambda row: 'low_bytes' not in row or int(row['low_bytes']) < int(row['high_bytes']),
    'upstream_neighbor must be a link-local IPv6 address (fe80::/10)':
        lambda row: 'upstream_neighbor' not in row or row['upstream_neighbor'].lower().startswith('fe80:'),
    'first_element_id is for an enterprise number: with pen 0 give the eight ids that IANA assigned in element_ids':
        lambda row: int(row['pen']) != 0 or 'first_element_id' not in row,
    'element_ids are eight with pen 0, as IANA assigned them, and for pen 0 only':
        lambda row: len(row.get('element_ids', [])) == (8 if int(row['pen']) == 0 else 0),
    'stream_id_scope global needs etcd_endpoints':
        lambda row: row.get('stream_id_scope') != 'global' or bool(row.get('etcd_endpoints')),
    'etcd_endpoints must be all http, or all https':
        lambda row: not (endpoints_of(row, 'http:') and endpoints_of(row, 'https:')),
    'etcd_ca_file is needed with etcd_endpoints of https, and is for them only':
        lambda row: endpoints_of(row, 'https:') == ('etcd_ca_file' in row),
    'etcd_cert_file and etcd_key_file go together':
        lambda row: ('etcd_cert_file' in row) == ('etcd_key_file' in row),
    'etcd_cert_file needs etcd_ca_file, and etcd_endpoints of https':
        lambda row: 'etcd_cert_file' not in row or 'etcd_ca_file' in row,
    'etcd_user and etcd_password_file go together':
        lambda row: ('etcd_user' in row) == ('etcd_password_file' in row),
}


def version_of(text):
    """The version of IP of an address or prefix."""
    return ipaddress.ip_interface(text).version


def endpoints_of(row, scheme):
    """Whether an endpoint of etcd is of a scheme."""
    return any(one.startswith(scheme) for one in row.get('etcd_endpoints', []))


def fail(text):
    """Ends the command with one line."""
    raise click.ClickException(text)


def allowed(field):
    """What a field takes, in words."""
    if 'most' in field:
        return '1..{} of these, with commas between: {}'.format(field['most'], allowed_one(field))
    return allowed_one(field)


def allowed_one(field):
    """What one value of a field is, in words."""
    if field['type'] == 'values':
        return 'one of ' + ', '.join(field['values'])
    if field['type'] == 'number':
        ranges = field.get('ranges', [[field['min'], field['max']]])
        return 'a decimal number, ' + ' or '.join(str(low) if low == high else '{}..{}'.format(low, high) for low, high in ranges)
    if field['type'] == 'ip-address':
        return 'an IPv{} address'.format(field['family']) if 'family' in field else 'an IP address'
    if field['type'] == 'ip-prefix':
        return 'an IP prefix, as in 2001:db8::/32'
    if field['type'] == 'endpoint':
        return 'http://HOST:PORT or https://HOST:PORT'
    what = 'letters, digits, _ . -' if 'pattern' in field else 'characters'
    return '{}..{} {}'.format(field['min'], field['max'], what)


def is_good(field, value):
    """Whether the model takes a value. Numbers have no sign and no leading 0."""
    if 'most' in field:
        values = value.split(',')
        return len(values) <= field['most'] and len(set(values)) == len(values) and all(is_good_one(field, one) for one in values)
    return is_good_one(field, value)


def is_good_one(field, value):
    """The same of one value of several."""
    if field['type'] == 'values':
        return value in field['values']
    if field['type'] == 'number':
        if not re.fullmatch('0|[1-9][0-9]{0,19}', value):
            return False
        return any(low <= int(value) <= high for low, high in field.get('ranges', [[field['min'], field['max']]]))
    if field['type'] == 'ip-address':
        try:
            version = ipaddress.ip_address(value).version
        except ValueError:
            return False
        return '%' not in value and version == field.get('family', version)
    if field['type'] == 'ip-prefix':
        try:
            ipaddress.ip_network(value, strict=False)
        except ValueError:
            return False
        return '%' not in value and '/' in value
    if not value.isprintable() or not field.get('min', 1) <= len(value) <= field.get('max', 255):
        return False
    return re.fullmatch(field.get('pattern', '.*'), value) is not None


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
    """Refuses a key that is not valid, or that no row of the other tables has."""
    field, others = table['key'], table.get('in', [])
    if others and (not is_good(field, key) or '|' in key):
        fail('{} "{}": must not be empty, and has no |'.format(field['name'], key))
    if not others and not is_good(field, key):
        fail('{} {} "{}": must be {}'.format(table['table'], field['name'], key, allowed(field)))
    if not others or any(cfgdb.get_entry(other, key) for other in others):
        return
    there = natsorted(str(name) for other in others for name in cfgdb.get_table(other))
    more = ', ...' if len(there) > SHOWN else ''
    fail('{} {}: no such row in {}; there are: {}{}'.format(
        table['table'], key, ' or '.join(others), ', '.join(there[:SHOWN]) or 'none', more))


def check_row(table, key, row):
    """Refuses a row that the model does not take as a whole."""
    for name in table.get('needs', []):
        if name not in row:
            fail('{}|{}: {} is needed'.format(table['table'], key, name))
    full = dict({f['name']: f['default'] for f in table['fields'] if 'default' in f}, **row)
    if 'key' in table:
        full[table['key']['name']] = key
    for message in table.get('rules', []):
        if not RULES[message](full):
            fail('{}|{}: {}'.format(table['table'], key, message))


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
    lists = [field['name'] for field in table['fields'] if 'most' in field]
    given = {name: value.split(',') if name in lists else value for name, value in values.items() if value is not None}
    check_row(table, key, dict(cfgdb.get_entry(table['table'], key), **given))
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
    else:
        check_row(table, key, row)
    write(cfgdb.set_entry, table['table'], key, row)


def namespace_option():
    return click.Option(['-n', '--namespace'], help='The ASIC, on a switch of several.', metavar='asicN')


def example(table, verb):
    """A command line of a table that works on every switch with an Ethernet0."""
    name = '2001:db8::/32' if 'key' in table and table['key']['type'] == 'ip-prefix' else 'gold'
    key = ['Ethernet0' if 'in' in table else name] if 'key' in table else []
    field = next((f for f in table['fields'] if f['name'] in table.get('needs', ['admin_state', 'role'])), (table['fields'] or [None])[0])
    given = []
    if field and verb == 'set':
        address = '2001:db8::9' if name != 'gold' else '192.0.2.9'
        value = {'values': field.get('values', [''])[0], 'ip-address': address}.get(field['type'], field.get('min'))
        given = ['--' + option(field), str(value)]
    return 'Example: ' + ' '.join(['config sluice', table['command'], verb] + key + given)


def set_command(table):
    """config sluice TABLE set [KEY] --field value ..."""
    @clicommon.pass_db
    def run(db, namespace=None, key=None, **values):
        set_row(db, table, namespace, key or table['only'], values)

    params = [click.Argument(['key'], metavar=table['key']['name'].upper())] if 'key' in table else []
    for field in table['fields']:
        default = '; by default {}'.format(field['default']) if 'default' in field else ''
        params.append(click.Option(
            ['--' + option(field), field['name']], metavar='|'.join(field.get('values', [field['type'].upper()])) + (',...' if 'most' in field else ''),
            help='{} {}{}.'.format(field.get('help', ''), allowed(field).capitalize(), default).strip()))
    return click.Command('set', params=params + [namespace_option()], callback=run,
                         help='Set fields of {}; the others stay as they are.'.format(table['table']), epilog=example(table, 'set'))


def del_command(table):
    """config sluice TABLE del [KEY] [FIELD]"""
    @clicommon.pass_db
    def run(db, namespace=None, key=None, field=None):
        del_row(db, table, namespace, key or table['only'], field)

    params = [click.Argument(['key'], metavar=table['key']['name'].upper())] if 'key' in table else []
    params.append(click.Argument(['field'], required=False))
    return click.Command('del', params=params + [namespace_option()], callback=run,
                         help='Remove a row of {}, or one field of it.'.format(table['table']), epilog=example(table, 'del'))


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


for _table in TABLES:
    _group = clicommon.AliasedGroup(name=_table['command'], help=_table['help'])
    _group.add_command(set_command(_table))
    _group.add_command(del_command(_table))
    sluice.add_command(_group)


def register(cli):
    """Called by SONiC's config with its top group."""
    cli.add_command(sluice)
