// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/wire/notify"
	"sluice/tests/configtest"
	"sluice/yang/rows"
)

// same compares addresses and prefixes by their values.
var same = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func TestRowsOfPFCMConfigureFlowControl(t *testing.T) {
	got := Of(configtest.Snapshot(t, configtest.Port0, configtest.Port4, []string{"PORT", "Ethernet8", "lanes=8", "speed=100000"}, []string{"PORT", "Ethernet12", "lanes=12", "speed=100000"},
		[]string{"PORTCHANNEL", "PortChannel1"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet8"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet12"},
		[]string{"SLUICE_THRESHOLD", "gold", "high_bytes=100000", "queues@=3,4", "action=reduce", "reduction=30", "average_us=5", "buffer_bytes=900000"},
		configtest.Edge0, []string{"SLUICE_PORT", "Ethernet4", "role=edge", "upstream_neighbor=fe80::9", "threshold=gold"},
		[]string{"SLUICE_PORT", "PortChannel1", "role=border"},
		[]string{"SLUICE", "global", "stream_id_seed=5"},
		[]string{"SLUICE_PFCM", "global", "admin_state=enabled", "encapsulation=hop-by-hop", "icmpv6_type=210", "option_type=29", "translate_pfc=true",
			"unknown_stream=pair", "hold_limit_ms=500", "rx_rate=100", "rx_burst=10", "rx_rate_per_source=50", "tx_rate=200", "require_mark=77"},
		[]string{"SLUICE_PPFC", "global", "figure2=accept"})).Control
	codes := notify.DefaultCodePoints()
	codes.PFCMType, codes.PFCMOption, codes.Figure2 = 210, 29, true
	want := control.Settings{
		PFCM: true,
		Task: flowcontrol.Config{
			Generate: true, Obey: true, Translate: true, Encapsulation: notify.HopByHop, Codes: codes, Seed: 5, HoldPair: true, HoldLimit: 500 * time.Millisecond,
			Receive: flowcontrol.Rate{PerSecond: 100, Burst: 10}, ReceiveBySource: flowcontrol.Rate{PerSecond: 50, Burst: 5}, Send: flowcontrol.Rate{PerSecond: 200, Burst: 20}, SendClient: flowcontrol.Rate{PerSecond: 12800, Burst: 1280},
			Mark: 77,
		},
		Ports: []string{"Ethernet0", "Ethernet12", "Ethernet4", "Ethernet8"},
		Devices: []control.Device{
			{Port: flowcontrol.Port{Name: "Ethernet0", Edge: true}, Members: []control.Member{{Name: "Ethernet0"}}}, // a host, which is told nothing
			{Port: flowcontrol.Port{Name: "Ethernet4", Notify: true, Edge: true}, Watched: true, Upstream: netip.MustParseAddr("fe80::9"), Members: []control.Member{{Name: "Ethernet4"}}},
			{Port: flowcontrol.Port{Name: "PortChannel1", Notify: true, Border: true}, Watched: true, Members: []control.Member{{Name: "Ethernet12", SpeedMbps: 100_000}, {Name: "Ethernet8", SpeedMbps: 100_000}}},
		},
		Thresholds: map[string]control.Threshold{"Ethernet4": {
			Threshold: congestion.Threshold{High: 100_000, Low: 50_000, Average: 5 * time.Microsecond, Action: notify.Reduce(30), Duration: 40 * time.Millisecond},
			Queues:    []uint8{3, 4}, Buffer: 900_000,
		}},
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	for _, off := range [][][]string{{configtest.Port0}, {{"SLUICE", "global", "admin_state=disabled"}, {"SLUICE_PFCM", "global", "admin_state=enabled"}}} {
		if s := Of(configtest.Snapshot(t, off...)).Control; s.On() {
			t.Errorf("PFCM is in force though it, or all, is disabled: %+v", s)
		}
	}
}

func TestRowsThatPFCMDoesNotFollowAreWarnedOf(t *testing.T) {
	w := Of(configtest.Snapshot(t, configtest.Port0, []string{"SLUICE", "global", "stream_id_scope=local"},
		[]string{"SLUICE_PFCM", "global", "admin_state=enabled", "allow_loss=true"})).Control.Warnings
	for i, want := range []string{"allow_loss is ignored", "scope hash"} {
		if len(w) != 2 || !strings.Contains(w[i], want) {
			t.Errorf("warnings %q, want %q", w, want)
		}
	}
}

// TestCodePointsAreThoseOfTheModel: the codec takes the numbers that CONFIG_DB takes, so that the
// tools refuse what rows refuse.
func TestCodePointsAreThoseOfTheModel(t *testing.T) {
	for _, field := range []struct {
		table, name string
		last        int
		set         func(c *notify.CodePoints, v uint16)
	}{
		{"SLUICE_PFCM", "icmpv6_type", 255, func(c *notify.CodePoints, v uint16) { c.PFCMType = uint8(v) }},
		{"SLUICE_PFCM", "option_type", 255, func(c *notify.CodePoints, v uint16) { c.PFCMOption = uint8(v) }},
		{"SLUICE_PPFC", "icmpv6_type", 255, func(c *notify.CodePoints, v uint16) { c.PPFCTypeV6 = uint8(v) }},
		{"SLUICE_PPFC", "icmpv4_type", 255, func(c *notify.CodePoints, v uint16) { c.PPFCTypeV4 = uint8(v) }},
		{"SLUICE_PPFC", "udp_port", 6400, func(c *notify.CodePoints, v uint16) { c.PPFCPort = v }},
	} {
		for v := range field.last + 1 {
			codes := notify.DefaultCodePoints()
			field.set(&codes, uint16(v))
			row := rows.Row{Table: field.table, Key: "global", Fields: map[string]string{field.name: strconv.Itoa(v)}}
			_, rejected := config.New().Apply([]sonicdb.Change{{Row: row}})
			if taken := len(rejected) == 0; taken != (codes.Validate() == nil) {
				t.Errorf("%s %s=%d: the row is taken: %v, the codec: %v", field.table, field.name, v, taken, codes.Validate())
			}
		}
	}
}

// PFCM names flows by their label whatever classification is configured: that is of the Stream
// IDs of scope global.
//
//conformance:draft-yang/by-5-tuple
func TestClassificationLeavesPFCMAsItIs(t *testing.T) {
	pfcm := []string{"SLUICE_PFCM", "global", "admin_state=enabled"}
	byLabel := Of(configtest.Snapshot(t, configtest.Port0, pfcm)).Control
	byTuple := Of(configtest.Snapshot(t, configtest.Port0, pfcm, []string{"SLUICE", "global", "classification=5-tuple"})).Control
	if diff := cmp.Diff(byLabel.Task, byTuple.Task, same); diff != "" || byLabel.FiveTuple || !byTuple.FiveTuple {
		t.Errorf("(-by label +by 5-tuple):\n%s", diff)
	}
}

func TestRowsOfPPFCAndRateAdviceConfigureFlowControl(t *testing.T) {
	router, gateway := netip.MustParseAddr("2001:db8:ff::1"), netip.MustParseAddr("2001:db8:ff::9")
	all := Of(configtest.Snapshot(t, configtest.Port0, configtest.Port4, configtest.Fabric4,
		[]string{"SLUICE", "global", "router_id=203.0.113.1", "router_id_v6=" + router.String()},
		[]string{"SLUICE_PPFC", "global", "admin_state=enabled", "transport=udp", "udp_port=1022", "priority_source=queue", "client_message=cnp", "rx_rate=100", "rx_rate_per_source=70", "rx_burst=10", "tx_rate=50", "hold_limit_ms=250", "require_mark=9"},
		[]string{"SLUICE_PPFC_GATEWAY", "2001:db8:a::/48", "gateway=" + gateway.String()},
		[]string{"SLUICE_PPFC_GATEWAY", "2001:db8:b::/48", "gateway=" + gateway.String(), "other_gateways@=" + router.String() + ",2001:db8:ff::7,2001:DB8:ff::9"},
		[]string{"SLUICE_PPFC_PEER", "2001:db8:ff::/64", "NULL=NULL"},
		[]string{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled", "opcode=200", "destination_qp=copy", "capability=bit", "capability_mask=4", "source=receiver",
			"interval_ms=20", "lifetime_intervals=4", "target_bytes=5000", "target_delay_us=70", "min_rate_mbps=3", "rtt_us=30"},
		[]string{"SLUICE_RATE_ADVICE_HOST", "10.0.0.0/8", "NULL=NULL"},
		[]string{"SLUICE_RATE_POLICY", "gold", "src_prefix=2001:db8:a::/48", "dscp=26", "rate_mbps=400"},
		[]string{"SLUICE_RATE_POLICY", "silver", "dscp=10", "port_percent=30"}))
	got := &all.Control.Task
	if got.Generate || got.Obey || got.Translate || !got.Sends() || !all.Path.Learns || all.Control.PFCM || !all.Control.PPFC || !all.Control.Advice {
		t.Errorf("PFCM is disabled: %+v", all.Control)
	}
	prefix := netip.MustParsePrefix
	want := &flowcontrol.PPFC{Transport: notify.OverUDP, Send: flowcontrol.Rate{PerSecond: 50, Burst: 5}, ByQueue: true, Gateways: []flowcontrol.Gateway{{Prefix: prefix("2001:db8:a::/48"), Addrs: []netip.Addr{gateway}}, {Prefix: prefix("2001:db8:b::/48"), Addrs: []netip.Addr{gateway, router, netip.MustParseAddr("2001:db8:ff::7")}}}}
	if diff := cmp.Diff(want, got.PPFC, same); diff != "" {
		t.Errorf("PPFC (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&flowcontrol.Ingress{Serves: []netip.Prefix{prefix("2001:db8:b::/48")}, Peers: []netip.Prefix{prefix("2001:db8:ff::/64")},
		Receive: flowcontrol.Rate{PerSecond: 100, Burst: 10}, ReceiveBySource: flowcontrol.Rate{PerSecond: 70, Burst: 7}, Client: flowcontrol.ClientCNP, Hosts: []netip.Prefix{prefix("10.0.0.0/8")}, MinRate: 3, HoldLimit: 250 * time.Millisecond, Mark: 9}, got.Ingress, same); diff != "" {
		t.Errorf("ingress (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&flowcontrol.Advice{
		Hosts: []netip.Prefix{prefix("10.0.0.0/8")}, Mask: 4, Copy: true, Receiver: true,
		Policies: []congestion.Policy{{Src: prefix("2001:db8:a::/48"), DSCP: 26, Rate: 400}, {DSCP: 10, Percent: 30}},
		Target:   congestion.Target{Bytes: 5000, Delay: 70 * time.Microsecond, Min: 3}, Pace: congestion.Pace{Interval: 20 * time.Millisecond, Lifetime: 4, RTT: 30 * time.Microsecond},
	}, got.Advice, same); diff != "" {
		t.Errorf("advice (-want +got):\n%s", diff)
	}
	if got.Codes.RateAdviceOpcode != 200 || got.Codes.PPFCPort != 1022 || got.Router6 != router {
		t.Errorf("codes %+v, router %s", got.Codes, got.Router6)
	}
	m := got.Messages()
	if m.PPFCMark != 9 || m.PPFCTo[1] != router || len(m.PPFCPeers) != 1 {
		t.Errorf("messages %+v", m)
	}
	if e := all.Policy.Export; e == nil || e.Rate != learnSampling || !e.CM || e.Answers != learnAnswers {
		t.Errorf("to learn queue pairs: %+v", e)
	}
}

func TestRowsThatPPFCAndRateAdviceLackAreWarnedOf(t *testing.T) {
	for want, lists := range map[string][][]string{
		"neither router_id nor router_id_v6: no PPFC":   {{"SLUICE_PPFC", "global", "admin_state=enabled"}},
		"SLUICE_PPFC_GATEWAY has no row":                {{"SLUICE_PPFC", "global", "admin_state=enabled"}},
		"SLUICE_PPFC_PEER has no row":                   {{"SLUICE", "global", "router_id=203.0.113.1"}, {"SLUICE_PPFC", "global", "admin_state=enabled"}, {"SLUICE_PPFC_GATEWAY", "10.0.0.0/8", "gateway=203.0.113.1"}},
		"client_message of SLUICE_PPFC|global is cnp":   {{"SLUICE_PPFC", "global", "admin_state=enabled", "client_message=cnp"}},
		"neither router_id nor router_id_v6: no advice": {{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled"}},
		"no host may receive it":                        {{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled"}},
		"opcode 29 of SLUICE_RATE_ADVICE|global is RC":  {{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled", "opcode=29"}},
	} {
		w := Of(configtest.Snapshot(t, lists...)).Control.Warnings
		if !slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no warning says %q: %q", want, w)
		}
	}
}

// A gateway that notifies its own clients lacks no row, nor does a limit by policies.
func TestMessagesToClientsLackNoRow(t *testing.T) {
	advice := [][]string{{"SLUICE", "global", "router_id=203.0.113.1"}, {"SLUICE_RATE_ADVICE", "global", "admin_state=enabled"}, {"SLUICE_RATE_ADVICE_HOST", "10.0.0.0/8"}}
	gateway := [][]string{{"SLUICE_PPFC_GATEWAY", "10.0.0.0/8", "gateway=203.0.113.1"}, {"SLUICE_PPFC_PEER", "203.0.113.2/32"}}
	for name, more := range map[string][][]string{
		"Rate Advice to clients": append([][]string{{"SLUICE_PPFC", "global", "admin_state=enabled", "client_message=rate-advice"}}, gateway...),
		"CNPs to clients":        append([][]string{{"SLUICE_PPFC", "global", "admin_state=enabled", "client_message=cnp"}}, gateway...),
		"policies":               {{"SLUICE_RATE_POLICY", "p", "rate_mbps=100"}},
	} {
		s := Of(configtest.Snapshot(t, append(slices.Clone(advice), more...)...)).Control
		if len(s.Warnings) != 0 {
			t.Errorf("%s: warnings %q", name, s.Warnings)
		}
	}
}

// Holds at senders are Rate Advice, but CNPs where that is off or clients of PPFC get CNPs.
func TestHoldsAtSendersAreConfigured(t *testing.T) {
	hosts := []string{"SLUICE_RATE_ADVICE_HOST", "10.0.0.0/8", "NULL=NULL"}
	pfcm := []string{"SLUICE_PFCM", "global", "admin_state=enabled"}
	advice := []string{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled", "source=receiver"}
	s := Of(configtest.Snapshot(t, configtest.Port0, hosts, pfcm))
	if by := s.Control.Source; by.Advise || len(by.Hosts) != 1 || !s.Path.Learns {
		t.Errorf("by CNPs: %+v", by)
	}
	if by := Of(configtest.Snapshot(t, configtest.Port0, hosts, pfcm, advice)).Control.Source; !by.Advise || !by.Receiver {
		t.Errorf("by Rate Advice: %+v", by)
	}
	if by := Of(configtest.Snapshot(t, configtest.Port0, hosts, pfcm, advice, []string{"SLUICE_PPFC", "global", "admin_state=enabled", "client_message=cnp"})).Control.Source; by.Advise {
		t.Error("clients of PPFC get CNPs")
	}
}
