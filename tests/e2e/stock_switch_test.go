// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/daemon/process"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

// ruleSwitch is the switch beneath orchagent: policy routing of a leaf's kernel. A rule to a
// link that is down drops, as an ASIC's does.
type ruleSwitch struct {
	leaf *fabric.LeafSpine
	v6   bool // rules are for IPv6

	mu    sync.Mutex
	to    map[string]installed // rules in force, by their names
	spent time.Duration        // by the kernel on rules, beyond the time of an ASIC: others may hold its lock

	removed   string // the rule that the last change removed; "": it made one
	rewritten int    // rules that were removed and made again at once
}

// installed is a rule in force.
type installed struct {
	rule *netlink.Rule
	port string // that it leads to; "": it drops
	flow int    // of the load
}

// Priorities of the kernel's rules, of which the lowest is first, less those of ACL rules, of which
// the highest is. On this switch a redirection wins over a DROP, whatever their priorities.
const (
	redirections = 20000
	drops        = 30000
)

// firstTable is the routing table of the first uplink; the others have those after it.
const firstTable = 1000

func newRuleSwitch(t *testing.T, leaf *fabric.LeafSpine, v6 bool) *ruleSwitch {
	t.Helper()
	s := &ruleSwitch{leaf: leaf, v6: v6, to: map[string]installed{}}
	all := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	if v6 {
		all = &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	}
	for i, u := range leaf.Uplinks {
		for _, r := range []*netlink.Route{
			{Dst: all, Table: firstTable + i, LinkIndex: u.Index, Gw: s.nextHop(i).AsSlice(), Priority: 1000},
			{Dst: all, Table: firstTable + i, Type: unix.RTN_BLACKHOLE, Priority: 2000},
		} {
			fabrictest.Check(t, leaf.Leaf.Do(func() error { return netlink.RouteAdd(r) }))
		}
	}
	return s
}

// nextHop is the address of the spine on an uplink that routes go by.
func (s *ruleSwitch) nextHop(uplink int) netip.Addr {
	if s.v6 {
		return s.leaf.Uplinks[uplink].Peer().LinkLocal
	}
	return spineAddress(uplink)
}

// redirect implements orchagenttest.ASIC.
func (s *ruleSwitch) redirect(name string, fields map[string]string, neighbor string) error {
	if neighbor == "" {
		return s.uninstall(name)
	}
	address, _, _ := strings.Cut(fields["REDIRECT_ACTION"], "@")
	uplink := -1
	for i := range s.leaf.Uplinks {
		if s.nextHop(i).String() == address {
			uplink = i
		}
	}
	if uplink < 0 {
		return fmt.Errorf("no uplink has the next hop %s", address)
	}
	rule, err := s.ruleOf(fields, redirections)
	if err != nil {
		return err
	}
	rule.Table = firstTable + uplink
	return s.install(name, installed{rule: rule, port: s.leaf.Uplinks[uplink].Name})
}

// drop is likewise for DROP.
func (s *ruleSwitch) drop(name string, fields map[string]string, on bool) error {
	if !on {
		return s.uninstall(name)
	}
	rule, err := s.ruleOf(fields, drops)
	if err != nil {
		return err
	}
	rule.Type = unix.RTN_BLACKHOLE
	return s.install(name, installed{rule: rule})
}

// ruleOf is the kernel's rule with the match of an ACL rule.
func (s *ruleSwitch) ruleOf(fields map[string]string, priority int) (rule *netlink.Rule, err error) {
	rule = netlink.NewRule()
	rule.Family, rule.IPProto = unix.AF_INET, unix.IPPROTO_UDP
	source, destination := "SRC_IP", "DST_IP"
	if s.v6 {
		rule.Family, source, destination = unix.AF_INET6, "SRC_IPV6", "DST_IPV6"
	}
	for field, to := range map[string]**net.IPNet{source: &rule.Src, destination: &rule.Dst} {
		if fields[field] == "" {
			continue
		}
		if _, *to, err = net.ParseCIDR(fields[field]); err != nil {
			return nil, err
		}
	}
	for field, to := range map[string]**netlink.RulePortRange{"L4_SRC_PORT": &rule.Sport, "L4_DST_PORT": &rule.Dport} {
		n, err := strconv.ParseUint(fields[field], 10, 16)
		if err != nil {
			return nil, err
		}
		*to = netlink.NewRulePortRange(uint16(n), uint16(n))
	}
	n, err := strconv.Atoi(fields["PRIORITY"])
	rule.Priority = priority - n
	return rule, err
}

func (s *ruleSwitch) install(name string, is installed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	is.flow = int(is.rule.Sport.Start) - stockPort
	if s.removed == name {
		s.rewritten++
	}
	s.removed = ""
	s.to[name] = is
	return s.timed(func() error { return netlink.RuleAdd(is.rule) })
}

// timed changes a rule of the kernel.
func (s *ruleSwitch) timed(change func() error) error {
	began := time.Now()
	defer func() { s.spent += time.Since(began) }()
	return s.leaf.Leaf.Do(change)
}

// took returns how long the kernel has worked on rules so far.
func (s *ruleSwitch) took() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent
}

func (s *ruleSwitch) uninstall(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.to[name]
	delete(s.to, name)
	s.removed = name
	return s.timed(func() error { return netlink.RuleDel(is.rule) })
}

// reset removes all rules, as a cold start of orchagent does.
func (s *ruleSwitch) reset() error {
	for name := range s.rules() {
		if err := s.uninstall(name); err != nil {
			return err
		}
	}
	return nil
}

// rewrites returns how many rules were removed and made again at once so far.
func (s *ruleSwitch) rewrites() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rewritten
}

// rules returns the rules in force, by their names.
func (s *ruleSwitch) rules() map[string]installed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.to)
}

// rulesTo counts the rules to a port.
func (s *ruleSwitch) rulesTo(port string) (n int) {
	for _, is := range s.rules() {
		if is.port == port {
			n++
		}
	}
	return n
}

// ruled counts the rules that redirect a flow.
func (s *ruleSwitch) ruled(flow int) (n int) {
	for _, is := range s.rules() {
		if is.flow == flow && is.port != "" {
			n++
		}
	}
	return n
}

// mostRules returns the one of some uplinks with most rules.
func (s *ruleSwitch) mostRules(of []*fabric.Interface) (most *fabric.Interface) {
	for _, u := range of {
		if most == nil || s.rulesTo(u.Name) > s.rulesTo(most.Name) {
			most = u
		}
	}
	return most
}

// flowOf is the name of a rule less which one of its flow it is.
func flowOf(rule string) string { return rule[:len(rule)-1] }

// The kernel of the tests has no psample: sluiced runs as a process of the test's program, which
// is sluiced but for the socket that samples come by.
const (
	envSamples = "E2E_SLUICED_SAMPLES"
	envConfig  = "E2E_SLUICED_CONFIG"
	envMemory  = "E2E_SLUICED_MEMORY"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(envSamples); at != "" {
		if err := sampledSluiced(at); err != nil {
			fmt.Fprintln(os.Stderr, "sluiced:", err)
			os.Exit(1)
		}
		return
	}
	flag.DurationVar(&patience, "patience", patience, "how long a test waits for what takes milliseconds on an idle machine")
	os.Exit(witnessed(m.Run()))
}

// sampledSluiced runs sluiced with samples that come by a socket at a path.
func sampledSluiced(at string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return process.Run(ctx, &process.Options{
		Version: "e2e", DBConfig: os.Getenv(envConfig), Level: slog.LevelInfo,
		Files:   process.Files{StateFile: os.Getenv(envMemory), LockFolder: process.LockFolder},
		Metrics: process.Metrics{Address: process.Off},
		OpenSamples: func() (int, error) {
			_ = os.Remove(at) // of an earlier process
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return -1, err
			}
			return fd, unix.Bind(fd, &unix.SockaddrUnix{Name: at})
		},
	}, os.Stdout, os.Stderr)
}

// sampleSocket is the path of the socket of samples beside a state file.
func sampleSocket(memory string) string { return memory + ".samples" }

// startSampled starts sampledSluiced on a node.
func startSampled(t testing.TB, node *fabric.Node, log *logged, config, memory string) *fabric.Process {
	t.Helper()
	program, err := os.Executable()
	fabrictest.Check(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), envSamples+"="+sampleSocket(memory), envConfig+"="+config, envMemory+"="+memory)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := node.Start(cmd)
	fabrictest.Check(t, err)
	return p
}

// samplePackets gives one of so many packets that leave by a leaf's uplinks to a socket until
// the test ends, in the form of psample: as an ASIC samples that names the port that a packet
// leaves by. All of the load comes in by the port of host A.
func samplePackets(t *testing.T, leaf *fabric.LeafSpine, to string, rate uint32) {
	t.Helper()
	fabrictest.Check(t, leaf.Leaf.Sysctl("net.unix.max_dgram_qlen", "4096"))
	var from, out int
	fabrictest.Check(t, leaf.Leaf.Do(func() (err error) {
		from, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return err
	}))
	out, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	fabrictest.Check(t, err)
	const (
		ancillary          = 0xfffff000 // SKF_AD_OFF
		packetType, random = ancillary + 4, ancillary + 56
		head               = 128 // octets of a sample
	)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: packetType},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 4, K: unix.PACKET_OUTGOING},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: random},
		{Code: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: rate},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: head},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	fabrictest.Check(t, unix.SetsockoptSockFprog(from, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}))
	fabrictest.Check(t, unix.SetsockoptInt(from, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20))
	fabrictest.Check(t, unix.SetsockoptTimeval(from, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50000}))
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	fabrictest.Check(t, unix.Bind(from, &unix.SockaddrLinklayer{Protocol: all}))
	ended, stop := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		<-ended
		_, _ = unix.Close(from), unix.Close(out)
	})
	go func() {
		defer close(ended)
		frame, seq := make([]byte, head), uint32(0)
		for {
			select {
			case <-stop:
				return
			default:
			}
			n, address, err := unix.Recvfrom(from, frame, 0)
			at, ok := address.(*unix.SockaddrLinklayer)
			if err != nil || !ok || at.Ifindex == leaf.LeafA.Index {
				continue
			}
			seq++
			message := psample(leaf.LeafA.Index, at.Ifindex, rate, seq, frame[:n])
			_ = unix.Sendto(out, message, 0, &unix.SockaddrUnix{Name: to}) // while sluiced is away samples are lost
		}
	}()
}

// psample is a message of linux/psample.h.
func psample(in, out int, rate, seq uint32, frame []byte) []byte {
	attribute := func(b []byte, kind uint16, v []byte) []byte {
		b = binary.NativeEndian.AppendUint16(b, uint16(4+len(v)))
		b = binary.NativeEndian.AppendUint16(b, kind)
		return append(append(b, v...), make([]byte, -len(v)&3)...)
	}
	number := func(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }
	b := make([]byte, 20)
	b[17] = 1 // version
	b = attribute(b, 0, binary.NativeEndian.AppendUint16(nil, uint16(in)))
	b = attribute(b, 1, binary.NativeEndian.AppendUint16(nil, uint16(out)))
	octets := 14 + uint32(binary.BigEndian.Uint16(frame[16:])) // on the wire
	if frame[12] == 0x86 {                                     // IPv6 counts those after its header
		octets = 14 + 40 + uint32(binary.BigEndian.Uint16(frame[18:]))
	}
	b = attribute(b, 2, number(octets))
	b = attribute(b, 3, number(1))
	b = attribute(b, 4, number(seq))
	b = attribute(b, 5, number(rate))
	b = attribute(b, 6, frame)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

// spineAddress is the IPv4 address of the spine on an uplink.
func spineAddress(uplink int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 1, 0, byte(uplink<<1) + 1})
}
