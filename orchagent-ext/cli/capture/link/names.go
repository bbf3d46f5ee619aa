// SPDX-License-Identifier: Apache-2.0

package link

import "fmt"

// names are those of link types that captures of a network have.
var names = map[Type]string{
	Null: "BSD loopback", Ethernet: "Ethernet", 3: "AX.25", 6: "IEEE 802.5", 7: "ARCNET", 8: "SLIP", PPP: "PPP", 10: "FDDI", RawBSD: "raw IP", RawOpenBSD: "raw IP",
	19: "Linux ATM CLIP", PPPHDLC: "PPP in HDLC", PPPEther: "PPPoE", 100: "ATM with LLC", Raw: "raw IP", CiscoHDLC: "Cisco HDLC", WiFi: "IEEE 802.11",
	107: "Frame Relay", Loop: "OpenBSD loopback", 109: "OpenBSD enc", SLL: "Linux cooked", 114: "LocalTalk", 117: "OpenBSD pflog",
	Prism: "Prism and IEEE 802.11", 122: "IP over Fibre Channel", 123: "SunATM", Radiotap: "radiotap and IEEE 802.11", 129: "Linux ARCNET",
	138: "IP over IEEE 1394", 140: "MTP2", 142: "SCCP", 143: "DOCSIS", 144: "Linux IrDA", AVS: "AVS and IEEE 802.11",
	PPPPPPD: "pppd", 177: "LAPD", 178: "Juniper Ethernet", 187: "Bluetooth H4", 189: "USB", PPI: "PPI", 195: "IEEE 802.15.4", ERF: "ERF",
	201: "Bluetooth H4", PPPWithDir: "PPP with direction", 209: "I2C", 220: "USB", MPLS: "MPLS", 224: "Fibre Channel", IPNET: "Solaris IPNET", 227: "SocketCAN",
	IPv4: "IPv4", IPv6: "IPv6", 230: "IEEE 802.15.4", 231: "D-Bus", NFLOG: "NFLOG", 240: "netANALYZER", 241: "netANALYZER transparent",
	242: "IP over InfiniBand", 243: "MPEG-2 TS", InfiniBand: "InfiniBand", 248: "SCTP", 249: "USBPcap", 251: "Bluetooth LE", 253: "Linux netlink",
	258: "pktap", 264: "NordicBLE", SLL2: "Linux cooked 2", 277: "Linux vsock monitor",
}

// String is the name of the type, such as "link type 197 (ERF)", or its number alone.
func (t Type) String() string {
	if name := names[t]; name != "" {
		return fmt.Sprintf("link type %d (%s)", uint32(t), name)
	}
	if t >= 147 && t <= 162 {
		return fmt.Sprintf("link type %d (of a user)", uint32(t))
	}
	return fmt.Sprintf("link type %d", uint32(t))
}
