// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/guest"
)

const (
	patience    = 2 * time.Minute // for something that takes milliseconds on an idle machine
	poll        = 20 * time.Millisecond
	guestMemory = 330 // MB
)

// An end is a guest in place of a host of the testbed.
type end struct {
	*guest.Guest
	port        *fabric.Interface // of the host: frames for the guest arrive there
	addr, addr4 netip.Prefix
}

// attachGuest boots a guest in place of a host: it has the host's MAC address, and will have its
// addresses.
func attachGuest(host *fabric.Interface, addr, addr4 netip.Prefix, i guest.Image, folder string) (*end, error) {
	mac := host.MAC.String()
	for _, args := range []string{
		// Frames for the guest pass this host.
		"address flush dev " + host.Name,
		"link set " + host.Name + " down", "link set " + host.Name + " address 02:ff:ff:ff:ff:01", "link set " + host.Name + " up",
		"tuntap add tap0 mode tap", "link set tap0 mtu 9100 txqueuelen " + fmt.Sprint(room), "link set tap0 up",
		"link add name br0 type bridge", // mcast_snooping is off for lack of a querier
		"link set br0 type bridge mcast_snooping 0 ageing_time 0",
		"link set " + host.Name + " master br0", "link set tap0 master br0", "link set br0 up",
	} {
		cmd := exec.Command("ip", append([]string{"-n", host.Node.Namespace}, strings.Fields(args)...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", cmd, err, out)
		}
	}
	if err := host.Node.Sysctl("net.ipv6.conf.br0.disable_ipv6", "1"); err != nil {
		return nil, err
	}
	// Frames leave with their checksums filled in, and none is larger than the MTU: a switch
	// would see the same.
	const asWired = "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off,host_tso4=off,host_tso6=off,host_ufo=off,mrg_rxbuf=off"
	g, err := guest.Boot(host.Node, host.Node.Name, guest.Machine{Image: i, Memory: guestMemory, Folder: folder, Extra: []string{
		// Unbounded (sndbuf): QEMU can miss that a device which was full has room again.
		"-netdev", "tap,id=net0,script=no,downscript=no,sndbuf=0,ifname=tap0",
		"-device", "virtio-net-pci,netdev=net0,romfile=,mac=" + mac + "," + asWired}})
	return &end{Guest: g, port: host, addr: addr, addr4: addr4}, err
}

// busybox has an ip of its own, which its shell prefers to that of iproute2: hence the path.
//
// configure gives the guest its addresses, routes by its neighbor in the fabric, and an RDMA
// device.
func (e *end) configure(ctx context.Context) error {
	router := e.port.Peer()
	for _, command := range []string{
		"sysctl -q -w net.ipv6.conf.eth0.accept_ra=0 net.ipv6.conf.eth0.accept_dad=0 net.ipv6.conf.eth0.router_solicitations=0",
		"/bin/ip link set lo up",
		"/bin/ip link set eth0 up arp off multicast off",
		fmt.Sprintf("/bin/ip addr add %s dev eth0 nodad", e.addr),
		fmt.Sprintf("/bin/ip addr add %s dev eth0", e.addr4),
		fmt.Sprintf("/bin/ip neigh replace %s lladdr %s dev eth0 nud permanent", router.LinkLocal, router.MAC),
		fmt.Sprintf("/bin/ip neigh replace %s lladdr %s dev eth0 nud permanent", e.gateway4(), router.MAC),
		fmt.Sprintf("/bin/ip route add default via %s dev eth0", e.gateway4()),
		fmt.Sprintf("/bin/ip -6 route add default via %s dev eth0", router.LinkLocal),
		"rdma link add rxe0 type rxe netdev eth0",
	} {
		if _, err := e.Run(ctx, "%s", command); err != nil {
			return err
		}
	}
	return nil
}

// gateway4 is the router's IPv4 address of the guest's prefix.
func (e *end) gateway4() netip.Addr { return e.addr4.Masked().Addr().Next() }

// room are the packets that wait at a port without queues of a switch: more than queue pairs have
// under way.
const room = 16384

// buffer gives ports a queue each, or takes it where a switch is to have its own. The other end of a
// veth takes 256 packets at once: more than that wait in a queue (Linux 6.16), and are dropped where
// there is none.
func buffer(on bool, ports ...*fabric.Interface) error {
	for _, p := range ports {
		args := "del dev " + p.Name + " root"
		if on {
			args = fmt.Sprint("replace dev ", p.Name, " root pfifo limit ", room)
		}
		if err := qdisc(p, args); err != nil {
			return err
		}
	}
	return nil
}

// limit gives a guest's adapter a line rate in Mbit/s; the guest itself sends as fast as the machine
// can. buffer takes the rate away.
func (e *end) limit(mbps int) error {
	const burst, waits = "10kb", "16mb" // more than all queue pairs have under way
	return qdisc(e.port, fmt.Sprintf("replace dev %s root tbf rate %dmbit burst %s limit %s", e.port.Name, mbps, burst, waits))
}

// qdisc runs tc qdisc in the namespace of a port.
func qdisc(p *fabric.Interface, args string) error {
	cmd := exec.Command("tc", append([]string{"-n", p.Node.Namespace, "qdisc"}, strings.Fields(args)...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	return nil
}
