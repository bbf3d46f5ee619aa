// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// skipStats is RTEXT_FILTER_SKIP_STATS of linux/rtnetlink.h.
const skipStats = 1 << 3

// Carrier reports whether a netdev has a carrier now. [News] and the flags of routes can be a
// second late: the kernel reports carriers that go down at most once a second (net/core/link_watch.c,
// linkwatch_urgent_event), unless the netdev is one end of a pair with different indexes. The flag
// IFF_LOWER_UP is that of the driver (netif_carrier_ok).
func Carrier(index int) (bool, error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(index)
	request.AddData(message)
	request.AddData(nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats)))
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil {
		return false, fmt.Errorf("link %d: %w", index, err)
	}
	if len(answers) != 1 || len(answers[0]) < unix.SizeofIfInfomsg {
		return false, fmt.Errorf("link %d: %w", index, errShort)
	}
	const flags = 8 // offset in struct ifinfomsg
	return binary.NativeEndian.Uint32(answers[0][flags:])&unix.IFF_LOWER_UP != 0, nil
}
