// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/tests/configtest"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

var sameAddr = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func TestRowsOfPPFCAndRateAdviceConfigureFlowControl(t *testing.T) {
	router, gateway := netip.MustParseAddr("2001:db8:ff::1"), netip.MustParseAddr("2001:db8:ff::9")
	s := configtest.Snapshot(t, configtest.Port0, configtest.Port4, configtest.Fabric4,
		[]string{"SLUICE", "global", "router_id=203.0.113.1", "router_id_v6=" + router.String()},
		[]string{"SLUICE_PPFC", "global", "admin_state=enabled", "transport=udp", "udp_port=1022", "priority_source=queue", "client_message=cnp", "rx_rate=100", "rx_rate_per_source=70", "rx_burst=10", "tx_rate=50", "hold_limit_ms=250", "require_mark=9"},
		[]string{"SLUICE_PPFC_GATEWAY", "2001:db8:a::/48", "gateway=" + gateway.String()},
		[]string{"SLUICE_PPFC_GATEWAY", "2001:db8:b::/48", "gateway=" + router.String()},
		[]string{"SLUICE_PPFC_PEER", "2001:db8:ff::/64", "NULL=NULL"},
		[]string{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled", "opcode=200", "destination_qp=copy", "capability=bit", "capability_mask=4", "source=receiver",
			"interval_ms=20", "lifetime_intervals=4", "target_bytes=5000", "target_delay_us=70", "min_rate_mbps=3"},
		[]string{"SLUICE_RATE_ADVICE_HOST", "10.0.0.0/8", "NULL=NULL"},
		[]string{"SLUICE_RATE_POLICY", "gold", "src_prefix=2001:db8:a::/48", "dscp=26", "rate_mbps=400"})
	got := configOf(s)
	if got.Generate || got.Obey || got.Translate || !got.Sends() || !policy.Learns(s) {
		t.Errorf("PFCM is disabled: %+v", got)
	}
	prefix := netip.MustParsePrefix
	want := &flowcontrol.PPFC{Transport: notify.OverUDP, Send: flowcontrol.Rate{PerSecond: 50, Burst: 5}, ByQueue: true, Gateways: []flowcontrol.Gateway{{Prefix: prefix("2001:db8:a::/48"), Addr: gateway}, {Prefix: prefix("2001:db8:b::/48"), Addr: router}}}
	if diff := cmp.Diff(want, got.PPFC, sameAddr, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("PPFC (-want +got):\n%s", diff)
	}
	samePrefix := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(&flowcontrol.Ingress{Serves: []netip.Prefix{prefix("2001:db8:b::/48")}, Peers: []netip.Prefix{prefix("2001:db8:ff::/64")},
		Receive: flowcontrol.Rate{PerSecond: 100, Burst: 10}, ReceiveBySource: flowcontrol.Rate{PerSecond: 70, Burst: 7}, Client: flowcontrol.ClientCNP, Hosts: []netip.Prefix{prefix("10.0.0.0/8")}, MinRate: 3, HoldLimit: 250 * time.Millisecond, Mark: 9}, got.Ingress, samePrefix); diff != "" {
		t.Errorf("ingress (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&flowcontrol.Advice{
		Hosts: []netip.Prefix{prefix("10.0.0.0/8")}, Mask: 4, Copy: true, Receiver: true,
		Policies: []congestion.Policy{{Src: prefix("2001:db8:a::/48"), DSCP: 26, Rate: 400}},
		Target:   congestion.Target{Bytes: 5000, Delay: 70 * time.Microsecond, Min: 3}, Pace: congestion.Pace{Interval: 20 * time.Millisecond, Lifetime: 4},
	}, got.Advice, samePrefix); diff != "" {
		t.Errorf("advice (-want +got):\n%s", diff)
	}
	if got.Codes.RateAdviceOpcode != 200 || got.Codes.PPFCPort != 1022 || got.Router6 != router {
		t.Errorf("codes %+v, router %s", got.Codes, got.Router6)
	}
	m := got.Messages()
	if m.PPFCMark != 9 || m.PPFCTo[1] != router || len(m.PPFCPeers) != 1 {
		t.Errorf("messages %+v", m)
	}
	if e := policy.Of(s).Export; e == nil || e.Rate != policy.LearnSampling || !e.CM || e.Answers != policy.LearnAnswers {
		t.Errorf("to learn queue pairs: %+v", e)
	}
}

func TestWhatIsMissingForPPFCAndRateAdviceIsWarnedOf(t *testing.T) {
	for want, lists := range map[string][][]string{
		"neither router_id nor router_id_v6: no PPFC":   {{"SLUICE_PPFC", "global", "admin_state=enabled"}},
		"SLUICE_PPFC_GATEWAY has no row":                {{"SLUICE_PPFC", "global", "admin_state=enabled"}},
		"SLUICE_PPFC_PEER has no row":                   {{"SLUICE", "global", "router_id=203.0.113.1"}, {"SLUICE_PPFC", "global", "admin_state=enabled"}, {"SLUICE_PPFC_GATEWAY", "10.0.0.0/8", "gateway=203.0.113.1"}},
		"client_message of SLUICE_PPFC|global is cnp":   {{"SLUICE_PPFC", "global", "admin_state=enabled", "client_message=cnp"}},
		"neither router_id nor router_id_v6: no advice": {{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled"}},
		"no host may receive it":                        {{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled"}},
		"opcode 29 of SLUICE_RATE_ADVICE|global is RC":  {{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled", "opcode=29"}},
		"no port of SLUICE_PORT has a threshold":        {{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled"}},
	} {
		s := configtest.Snapshot(t, lists...)
		w := warnings(s, configOf(s), nil)
		if !slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no warning says %q: %q", want, w)
		}
	}
}

// Messages to clients and rates of policies have causes of their own: queues may be without marks.
func TestMessagesWithoutQueuesNeedNoThreshold(t *testing.T) {
	advice := [][]string{{"SLUICE", "global", "router_id=203.0.113.1"}, {"SLUICE_RATE_ADVICE", "global", "admin_state=enabled"}, {"SLUICE_RATE_ADVICE_HOST", "10.0.0.0/8"}}
	gateway := [][]string{{"SLUICE_PPFC_GATEWAY", "10.0.0.0/8", "gateway=203.0.113.1"}, {"SLUICE_PPFC_PEER", "203.0.113.2/32"}}
	for name, more := range map[string][][]string{
		"Rate Advice to clients": append([][]string{{"SLUICE_PPFC", "global", "admin_state=enabled", "client_message=rate-advice"}}, gateway...),
		"CNPs to clients":        append([][]string{{"SLUICE_PPFC", "global", "admin_state=enabled", "client_message=cnp"}}, gateway...),
		"policies":               {{"SLUICE_RATE_POLICY", "p", "rate_mbps=100"}},
	} {
		s := configtest.Snapshot(t, append(slices.Clone(advice), more...)...)
		if w := warnings(s, configOf(s), nil); len(w) != 0 {
			t.Errorf("%s: warnings %q", name, w)
		}
	}
}

// A target below a bandwidth-delay product is warned of, with the figure that fits.
func TestTargetBelowABandwidthDelayProductIsWarnedOf(t *testing.T) {
	for target, warned := range map[string]bool{"target_bytes=100000": true, "target_bytes=250000000": false} {
		s := configtest.Snapshot(t, configtest.Port0, configtest.Port4, configtest.Fabric4, []string{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled", "rtt_us=20000", target})
		c := configOf(s)
		c.Ports = []flowcontrol.Port{{Name: "Ethernet4", Members: nil, Speed: 100_000}}
		c.Ports[0].Members = append(c.Ports[0].Members, 5)
		c.Queues = map[sai.ObjectID]flowcontrol.Queue{503: {Port: 5, Name: "Ethernet4"}}
		w := strings.Join(sourceWarnings(s, c), "; ")
		if strings.Contains(w, "bandwidth-delay product of 100000 Mbit/s and 20ms: 250000000 fits") != warned {
			t.Errorf("%s: %s", target, w)
		}
	}
}

// Where the switch neither watches nor holds flows, and hosts may be slowed, flows are held at
// their senders, and nothing is sent about queues.
func TestHoldsAtSendersAreConfigured(t *testing.T) {
	chosen := func(threshold, hold engine.Method) engine.Choices {
		return engine.Choices{engine.NeedThreshold: {Method: threshold, Reason: "no events"}, engine.NeedHold: {Method: hold}}
	}
	hosts := []string{"SLUICE_RATE_ADVICE_HOST", "10.0.0.0/8", "NULL=NULL"}
	pfcm := []string{"SLUICE_PFCM", "global", "admin_state=enabled"}
	advice := []string{"SLUICE_RATE_ADVICE", "global", "admin_state=enabled", "source=receiver"}
	s := configtest.Snapshot(t, configtest.Port0, configtest.Port4, hosts, pfcm)
	want := Settings{Snapshot: s, Choices: chosen(engine.None, engine.Source)}
	c := want.config()
	if want.unable() != nil || c.Generate || !c.Obey || c.Source == nil || c.Source.Advise || len(c.Source.Hosts) != 1 || !policy.Learns(s) {
		t.Errorf("by CNPs: %v, %+v", want.unable(), c)
	}
	if w := warnings(s, c, nil); slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, "threshold") }) {
		t.Errorf("warnings %q", w)
	}
	if want.partial() == "" {
		t.Error("PFCM about queues is configured, none is watched, and that is no fault")
	}
	obeys := configtest.Snapshot(t, configtest.Port0, hosts, append(slices.Clone(pfcm), "generate=false"))
	if p := (Settings{Snapshot: obeys, Choices: chosen(engine.None, engine.Source)}).partial(); p != "" {
		t.Errorf("nothing about queues is configured: %s", p)
	}
	s = configtest.Snapshot(t, configtest.Port0, hosts, pfcm, advice)
	if c := (Settings{Snapshot: s, Choices: chosen(engine.Exact, engine.Source)}).config(); !c.Generate || !c.Source.Advise || !c.Source.Receiver {
		t.Errorf("by Rate Advice: %+v", c)
	}
	s = configtest.Snapshot(t, configtest.Port0, hosts, pfcm, advice, []string{"SLUICE_PPFC", "global", "admin_state=enabled", "client_message=cnp"})
	if c := (Settings{Snapshot: s, Choices: chosen(engine.Exact, engine.Source)}).config(); c.Source.Advise {
		t.Error("clients of PPFC get CNPs")
	}
	if c := (Settings{Snapshot: s, Choices: chosen(engine.Exact, engine.Exact)}).config(); c.Source != nil {
		t.Error("the switch holds flows itself")
	}
	if err := (Settings{Snapshot: configtest.Snapshot(t, hosts, advice), Choices: chosen(engine.None, engine.Source)}).unable(); err == nil || err.Error() != "no events" {
		t.Errorf("advice of queues that nothing watches: %v", err)
	}
}
