// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"sluice/orchagent-ext/host/machine"
)

// linkDelay is how long a netdev is down that the operator wants up until the warning comes:
// SONiC writes its row before it sets the netdev.
const linkDelay = 3 * time.Second

// links are the states of the netdevs that ports have. Its maps do not change: each reading makes
// others.
type links struct {
	flags map[string]net.Flags // by name
	down  map[string]time.Time // ports that are to be up and are set down, since when
}

// readLinks reads the states of the netdevs of ports, in this namespace. A port without a netdev is
// left out.
func readLinks(ports []Port) (map[string]net.Flags, error) {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	flags := make(map[string]net.Flags, len(ports))
	err := machine.AskNetdevs(names, unix.SIOCGIFFLAGS, func(i int, r *unix.Ifreq) { flags[names[i]] = flagsOf(r.Uint16()) })
	if err != nil {
		return nil, fmt.Errorf("read the states of netdevs: %w", err)
	}
	return flags, nil
}

// flagsOf returns the flags of a netdev that matter here (netdevice(7)).
func flagsOf(f uint16) (flags net.Flags) {
	if f&unix.IFF_UP != 0 {
		flags |= net.FlagUp
	}
	if f&unix.IFF_RUNNING != 0 {
		flags |= net.FlagRunning
	}
	return flags
}

// update takes the states of netdevs as they are now.
func (l *links) update(flags map[string]net.Flags, ports []Port, now time.Time) {
	down := map[string]time.Time{}
	for _, p := range ports {
		f, there := flags[p.Name]
		if !p.Configured || !p.AdminUp || !there || f&net.FlagUp != 0 {
			continue
		}
		since, known := l.down[p.Name]
		if !known {
			since = now
		}
		down[p.Name] = since
	}
	l.flags, l.down = flags, down
}

// oper is the state of a port's netdev as SONiC calls it; "": it has none.
func (l *links) oper(port string) string {
	f, there := l.flags[port]
	switch {
	case !there:
		return ""
	case f&net.FlagUp != 0 && f&net.FlagRunning != 0:
		return "up"
	}
	return "down"
}

// warning names the ports that are set down though PORT says that they are up. One whose
// link has no carrier is none of them: hosts are switched off every day.
func warning(down map[string]time.Time, now time.Time) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(down)) {
		if now.Sub(down[name]) >= linkDelay {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the netdev of %s is set down, and PORT has admin_status=up: nothing comes in or goes out there. Set it up (ip link set dev %s up), or admin_status=down", strings.Join(names, ", "), names[0])
}
