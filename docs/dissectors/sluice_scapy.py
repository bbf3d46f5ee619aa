# SPDX-License-Identifier: Apache-2.0
"""Scapy layers of PFCM, PPFC and Rate Advice, and a reader of the IPFIX elements of
RoCEv2. Import it, and scapy dissects and builds the messages:

    from sluice_scapy import *
    rdpcap("pfcm-hop-by-hop.pcap")[0][PFCMOption].stream_id

As a program it prints each message of captures (*.pcap) and each record of IPFIX files
as a JSON object with the names of `sluice decode --json`:

    /usr/bin/python3 docs/dissectors/sluice_scapy.py FILE...
"""

import json
import socket
import struct
import sys

from scapy.contrib.roce import BTH
from scapy.fields import BitEnumField, BitField, ByteField, IP6Field, IPField, IntField, ShortField, XByteField, XShortField
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop, _hbhoptcls, _ICMPv6, _IPv6GuessPayload, icmp6typescls, icmp6typesminhdrlen
from scapy.layers.ipsec import AH
from scapy.packet import Packet, bind_bottom_up, bind_layers, bind_top_down
from scapy.utils import checksum, rdpcap

# The code points. None is assigned: change them to those that are configured.
PFCM_ICMPV6_TYPE, PFCM_OPTION_TYPE = 200, 30
PPFC_ICMPV6_TYPE, PPFC_ICMPV4_TYPE, PPFC_UDP_PORT = 201, 253, 1021
RATE_ADVICE_OPCODE = 0xc5

ACTIONS = {0: 'cancel', 1: 'pause', 2: 'reduce', 3: 'reserved'}
PTS = {0: 'stop', 1: 'resume', 2: 'alarm', 3: 'hold'}


class PFCM(_ICMPv6):
    """PFCM as ICMPv6 message."""
    name = 'PFCM'
    fields_desc = [ByteField('type', PFCM_ICMPV6_TYPE), ByteField('code', 0), XShortField('cksum', None),
                   ShortField('reserved', 0), ShortField('stream_id', 1), ByteField('queue_id', 0),
                   BitEnumField('action', 1, 2, ACTIONS), BitField('percent', 0, 6), ShortField('time_us', 0),
                   IP6Field('destination', '::'), IP6Field('source', '::')]
    overload_fields = {IPv6: {'nh': 58, 'hlim': 255}}


class PFCMOption(Packet):
    """PFCM as hop-by-hop or destination option; PadN of 2 octets before it aligns the addresses."""
    name = 'PFCM option'
    fields_desc = [XByteField('otype', PFCM_OPTION_TYPE), ByteField('optlen', 42), ByteField('subtype', 0),
                   ByteField('reserved1', 0), ShortField('stream_id', 1), ByteField('queue_id', 0),
                   BitEnumField('action', 1, 2, ACTIONS), BitField('percent', 0, 6), ShortField('time_us', 0),
                   ShortField('reserved2', 0), IP6Field('destination', '::'), IP6Field('source', '::')]

    def alignment_delta(self, curpos):
        return -(curpos + 4) % 8

    def extract_padding(self, s):
        return b'', s


class FlowPorts(Packet):
    """The first half of PPFC's Flow Identifier."""
    name = 'Flow Identifier: protocol and ports'
    fields_desc = [ByteField('protocol', 17), BitField('reserved', 0, 24), ShortField('sport', 0), ShortField('dport', 4791)]

    def guess_payload_class(self, payload):
        return FlowQPs if len(payload) == 8 else super().guess_payload_class(payload)


class FlowQPs(Packet):
    """The second half of PPFC's Flow Identifier."""
    name = 'Flow Identifier: queue pairs'
    fields_desc = [ByteField('reserved1', 0), BitField('src_qp', 0, 24), ByteField('reserved2', 0), BitField('dst_qp', 0, 24)]


class FlowWord(Packet):
    """The one word of figure 2 of draft-xz."""
    name = 'Flow Identifier: word'
    fields_desc = [IntField('word', 0)]


class _PPFC(Packet):
    def guess_payload_class(self, payload):
        if len(payload) == 4:
            return FlowWord
        return FlowPorts if len(payload) in (8, 16) else super().guess_payload_class(payload)


def _ppfc_fields(address, place, router):
    fields = [BitField('flags', 0, 6), BitEnumField('pt', 0, 2, PTS), ByteField('priority', 0), ShortField(place, 0),
              ShortField('reserved', 0), ShortField('pause_duration_us', 0), address('source', None), address('destination', None)]
    return fields + ([address('router_id', None)] if router else [])


class PPFCv6(_PPFC, _ICMPv6):
    """PPFC over ICMPv6."""
    name = 'PPFC over ICMPv6'
    fields_desc = [ByteField('type', PPFC_ICMPV6_TYPE), ByteField('code', 0), XShortField('cksum', None),
                   *_ppfc_fields(IP6Field, 'congestion_port', True)]


class PPFCv4(_PPFC):
    """PPFC over ICMPv4."""
    name = 'PPFC over ICMPv4'
    fields_desc = [ByteField('type', PPFC_ICMPV4_TYPE), ByteField('code', 0), XShortField('cksum', None),
                   *_ppfc_fields(IPField, 'congestion_port', True)]
    overload_fields = {IP: {'proto': 1}}

    def post_build(self, pkt, pay):
        pkt += pay
        return pkt if self.cksum is not None else pkt[:2] + struct.pack('!H', checksum(pkt)) + pkt[4:]


class PPFCUDPv6(_PPFC):
    """PPFC over UDP and IPv6."""
    name = 'PPFC over UDP and IPv6'
    fields_desc = _ppfc_fields(IP6Field, 'congestion_qid', False)


class PPFCUDPv4(_PPFC):
    """PPFC over UDP and IPv4."""
    name = 'PPFC over UDP and IPv4'
    fields_desc = _ppfc_fields(IPField, 'congestion_qid', False)


class RateAdvice(Packet):
    """Rate Advice; the BTH before it has the ICRC."""
    name = 'Rate Advice'
    fields_desc = [IntField('rate_mbps', 1), IntField('version', 1), IntField('destination_qp', 0), IntField('source_qp', 0)]


icmp6typescls.update({PFCM_ICMPV6_TYPE: PFCM, PPFC_ICMPV6_TYPE: PPFCv6})
icmp6typesminhdrlen.update({PFCM_ICMPV6_TYPE: 44, PPFC_ICMPV6_TYPE: 60})
_hbhoptcls[PFCM_OPTION_TYPE] = PFCMOption
bind_layers(BTH, RateAdvice, opcode=RATE_ADVICE_OPCODE)
AH.default_payload_class = _IPv6GuessPayload.default_payload_class  # scapy knows tunnels behind it only
bind_layers(AH, ICMP, nh=1)
ICMP.dispatch_hook = classmethod(lambda cls, _pkt=None, *_, **__: PPFCv4 if _pkt and _pkt[0] == PPFC_ICMPV4_TYPE else ICMP)


class PPFCUDP(Packet):
    """Chooses the form of PPFC over UDP by the IP header."""
    @classmethod
    def dispatch_hook(cls, _pkt=None, *_, _underlayer=None, **__):
        return PPFCUDPv6 if _underlayer is not None and isinstance(_underlayer.underlayer, IPv6) else PPFCUDPv4


bind_bottom_up(UDP, PPFCUDP, dport=PPFC_UDP_PORT)
bind_top_down(UDP, PPFCUDPv6, dport=PPFC_UDP_PORT)
bind_top_down(UDP, PPFCUDPv4, dport=PPFC_UDP_PORT)

# The elements of IPFIX, in the order of their ids.
PEN, FIRST_ELEMENT = 32473, 1
ELEMENTS = ['rdmaOpCode', 'rdmaPartitionKey', 'rdmaDestinationQP', 'rdmaSourceQP', 'rdmaPacketSequenceNumber',
            'rdmaBTHFlags1', 'rdmaBTHFlags2', 'rdmaBTHFlags3', 'ceOctetDeltaCount', 'cePacketDeltaCount',
            'rdmaSourceQPProvenance', 'rdmaSourceAddress', 'rdmaDestinationAddress', 'rdmaSendPacketDeltaCount',
            'rdmaWritePacketDeltaCount', 'rdmaReadRequestPacketDeltaCount', 'rdmaReadResponsePacketDeltaCount',
            'rdmaAcknowledgePacketDeltaCount', 'rdmaAtomicPacketDeltaCount', 'rdmaNotificationPacketDeltaCount',
            'cePacketTotalCount', 'rdmaAcknowledgeTotalCount', 'rdmaNotificationTotalCount',
            'rdmaReceiverNotReadyTotalCount', 'rdmaSequenceErrorTotalCount', 'rdmaAccessErrorTotalCount',
            'rdmaOtherErrorTotalCount', 'rdmaPayloadOctetTotalCount', 'rdmaGapTotalCount',
            'rdmaMissingPacketTotalCount', 'rdmaLostPacketCount', 'rdmaReorderedPacketCount',
            'rdmaRecoveredPacketTotalCount', 'rdmaDuplicatePacketTotalCount',
            'rdmaRetransmittedOctetTotalCount', 'rdmaMessageTotalCount', 'rdmaStallTotalCount',
            'rdmaStallTotalNanoseconds', 'rdmaRoundTripMedianNanoseconds', 'rdmaRoundTripP99Nanoseconds',
            'rdmaInvalidPacketDeltaCount']


def ipfix_records(message, templates):
    """The records of an IPFIX message that have elements of RoCEv2, a dict each.

    scapy.layers.netflow takes an enterprise's element for the one of IANA with that id,
    so sets are read here. templates is a dict that lives as long as the session.
    """
    version, length, _, _, domain = struct.unpack_from('!HHIII', message)
    if version != 10 or length > len(message):
        raise ValueError('no IPFIX message')
    records, at = [], 16
    while at + 4 <= length:
        kind, size = struct.unpack_from('!HH', message, at)
        if size < 4 or at + size > length:
            raise ValueError('a set of %d octets' % size)
        body = message[at + 4:at + size]
        if kind in (2, 3):
            _learn(body, domain, kind == 3, templates)
        elif (domain, kind) in templates:
            records += _records(body, templates[domain, kind])
        at += size
    return records


def _learn(body, domain, options, templates):
    at = 0
    while at + 4 <= len(body):
        number, count = struct.unpack_from('!HH', body, at)
        at += 6 if options and count else 4
        fields = []
        for _ in range(count):
            element, size = struct.unpack_from('!HH', body, at)
            at, pen = at + 4, 0
            if element & 0x8000:
                pen, = struct.unpack_from('!I', body, at)
                at += 4
            fields.append((pen, element & 0x7fff, size))
        if number >= 256:
            templates[domain, number] = fields


def _records(body, fields):
    records, at = [], 0
    while fields and at + sum(1 if size == 65535 else size for _, _, size in fields) <= len(body):
        record, start = {}, at
        for pen, element, size in fields:
            if size == 65535:  # RFC 7011 section 7
                size, at = body[at], at + 1
                if size == 255:
                    (size,), at = struct.unpack_from('!H', body, at), at + 2
            place = element - FIRST_ELEMENT
            if pen == PEN and 0 <= place < len(ELEMENTS):
                octets, name = body[at:at + size], ELEMENTS[place]
                record[name] = (socket.inet_ntop(socket.AF_INET6, octets) if name.endswith('Address')
                                else int.from_bytes(octets, 'big'))
            at += size
        if record:
            records.append(record)
        if at == start:
            break
    return records


def message_fields(packet):
    """What a packet says, by the names of `sluice decode --json`; None: it is no message, or one of another length."""
    for cls in (PFCM, PFCMOption):
        m, form = (packet.getlayer(cls), 'icmpv6') if cls is PFCM else _option(packet, cls)
        if m and (len(m.original) == 44 if cls is PFCM else m.optlen == 42):
            return {'encapsulation': form,
                    'stream_id': m.stream_id, 'queue_id': m.queue_id, 'action': ACTIONS[m.action],
                    'reduction_percent': {0: 0, 1: 100}.get(m.action, m.percent), 'time_us': m.time_us,
                    'destination': m.destination, 'source': m.source}
    for cls in (PPFCv6, PPFCv4, PPFCUDPv6, PPFCUDPv4):
        m = packet.getlayer(cls)
        over_udp = cls in (PPFCUDPv6, PPFCUDPv4)
        if not m or len(m.original) - _PPFC_OCTETS[cls] not in (0, 4, 8, 16) or over_udp and not _whole(packet):
            continue
        ip = packet[IPv6] if IPv6 in packet else packet[IP]
        place = 'congestion_qid' if over_udp else 'congestion_port'
        fields = {'transport': 'udp' if over_udp else 'icmp', 'flags': m.flags, 'pt': PTS[m.pt], 'priority': m.priority,
                  place: m.getfieldval(place), 'pause_duration_us': m.pause_duration_us, 'source': m.source,
                  'destination': m.destination, 'router_id': ip.src if over_udp else m.router_id,
                  'flow': 'qps' if FlowQPs in m else 'ports' if FlowPorts in m else 'word' if FlowWord in m else 'all'}
        if FlowWord in m:
            fields.update(flow_word=m[FlowWord].word)
        if FlowPorts in m:
            flow = m[FlowPorts]
            fields.update(flow_protocol=flow.protocol, flow_sport=flow.sport, flow_dport=flow.dport)
        if FlowQPs in m:
            fields.update(flow_src_qp=m[FlowQPs].src_qp, flow_dst_qp=m[FlowQPs].dst_qp)
        return fields
    if RateAdvice in packet and _whole(packet) and packet[UDP].len == 40:
        bth, m = packet[BTH], packet[RateAdvice]
        return {'pkey': bth.pkey, 'dest_qp': bth.dqpn, 'rate_mbps': m.rate_mbps, 'version': m.version,
                'destination_qp': m.destination_qp, 'source_qp': m.source_qp}
    return None


# Octets of PPFC without UDP header and Flow Identifier.
_PPFC_OCTETS = {PPFCv6: 60, PPFCv4: 24, PPFCUDPv6: 40, PPFCUDPv4: 16}


def _whole(packet):
    """Whether the length of UDP is that of the IP packet's rest."""
    return UDP in packet and packet[UDP].len == len(packet[UDP].original)


def _option(packet, cls):
    layer = packet
    while layer:
        for option in layer.fields.get('options') or []:
            if isinstance(option, cls):
                return option, 'hop-by-hop' if isinstance(layer, IPv6ExtHdrHopByHop) else 'destination-options'
        layer = layer.payload
    return None, None


def main(files):
    for name in files:
        if name.endswith('.ipfix'):
            with open(name, 'rb') as f:
                data, templates = f.read(), {}
            while data:
                length, = struct.unpack_from('!H', data, 2)
                for record in ipfix_records(data[:length], templates):
                    print(json.dumps(record))
                data = data[length:]
            continue
        for packet in rdpcap(name):
            fields = message_fields(packet)
            if fields:
                print(json.dumps(fields))


if __name__ == '__main__':
    main(sys.argv[1:])
