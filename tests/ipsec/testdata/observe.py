"""Counts the notifications that go from one network namespace to another over their
device eth0: those that leave the first in the clear, and the ESP and AH packets; those that
come to the second with the mark 0x51, and those that its kernel delivers to a raw
ICMPv6 socket. At each line of its input it prints the counts, and begins again.
"""

import ctypes
import json
import os
import select
import socket
import struct
import sys

ESP, AH, ICMPV6 = 50, 51, 58
NOTIFICATIONS = (200, 201)  # ICMPv6 types of PFCM and PPFC
LAST = (9999).to_bytes(2, 'big')  # Stream ID of a PFCM that is not counted
PACKET_OUTGOING, ETH_P_ALL, SO_ATTACH_FILTER = 4, 3, 26
MARK = 0x51
CLONE_NEWNET = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    with open('/run/netns/' + namespace) as f:
        if libc.setns(f.fileno(), CLONE_NEWNET):
            sys.exit('enter {}: {}'.format(namespace, os.strerror(ctypes.get_errno())))


def is_notification(message):
    return message[0] in NOTIFICATIONS and not (message[0] == 200 and message[6:8] == LAST)


def carries_notification(packet):
    return packet[6] == ICMPV6 and is_notification(packet[40:])


enter(sys.argv[1])
sent = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
sent.bind(('eth0', ETH_P_ALL))
enter(sys.argv[2])
raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, ICMPV6)
marked = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
# ld mark; jeq #MARK, 0, 1; ret #65535; ret #0
program = bytearray(b''.join(struct.pack('=HBBI', *line) for line in (
    (0x20, 0, 0, 0xfffff000 + 20), (0x15, 0, 1, MARK), (0x06, 0, 0, 0xffff), (0x06, 0, 0, 0))))
address = ctypes.addressof((ctypes.c_char * len(program)).from_buffer(program))
marked.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack('HL', 4, address))
marked.bind(('eth0', ETH_P_ALL))

counts = dict.fromkeys(('clear', 'esp', 'ah', 'marked', 'kernel'), 0)
while True:
    for s in select.select([sent, marked, raw, sys.stdin], [], [])[0]:
        if s is sys.stdin:
            if not sys.stdin.readline():
                sys.exit()
            print(json.dumps(counts), flush=True)
            counts = dict.fromkeys(counts, 0)
            continue
        data, where = s.recvfrom(65535)
        if s is raw:
            counts['kernel'] += is_notification(data)
        elif data[12:14] != b'\x86\xdd':
            continue
        elif s is marked:
            counts['marked'] += where[2] != PACKET_OUTGOING and carries_notification(data[14:])
        elif where[2] == PACKET_OUTGOING:
            counts['esp'] += data[20] == ESP
            counts['ah'] += data[20] == AH
            counts['clear'] += carries_notification(data[14:])
