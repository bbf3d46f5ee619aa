// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// A target below a bandwidth-delay product is warned of, with the figure that fits.
func TestTargetBelowABandwidthDelayProductIsWarnedOf(t *testing.T) {
	for target, warned := range map[uint64]bool{100_000: true, 250_000_000: false} {
		c := &flowcontrol.Config{
			Advice: &flowcontrol.Advice{Target: congestion.Target{Bytes: target}, Pace: congestion.Pace{RTT: 20 * time.Millisecond}},
			Ports:  []flowcontrol.Port{{Name: "Ethernet4", Members: []sai.ObjectID{5}, Speed: 100_000}},
			Queues: map[sai.ObjectID]flowcontrol.Queue{503: {Port: 5, Name: "Ethernet4"}, 504: {Port: 5, Name: "Ethernet4"}},
		}
		w := lowTargets(c)
		if !warned && len(w) == 0 {
			continue
		}
		if !warned || len(w) != 1 || !strings.Contains(w[0], "bandwidth-delay product of 100000 Mbit/s and 20ms: 250000000 fits") {
			t.Errorf("%d: %q", target, w)
		}
	}
}

// Messages to clients and rates of policies have causes of their own: queues may be without marks.
func TestMessagesWithoutQueuesNeedNoThreshold(t *testing.T) {
	own, other := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")
	advice := &flowcontrol.Advice{}
	for name, tt := range map[string]struct {
		c    flowcontrol.Config
		want bool
	}{
		"PFCM":                   {flowcontrol.Config{Generate: true}, true},
		"PFCM that is obeyed":    {flowcontrol.Config{Generate: true, Obey: true}, false},
		"PFCM and PFC":           {flowcontrol.Config{Generate: true, Obey: true, Translate: true}, true},
		"advice about queues":    {flowcontrol.Config{Advice: advice}, true},
		"Rate Advice to clients": {flowcontrol.Config{Advice: advice, Ingress: &flowcontrol.Ingress{Client: flowcontrol.ClientRateAdvice}}, false},
		"holds at senders":       {flowcontrol.Config{Advice: advice, Source: &flowcontrol.Source{}}, false},
		"policies":               {flowcontrol.Config{Advice: &flowcontrol.Advice{Policies: []congestion.Policy{{Rate: 100}}}}, false},
		"PPFC to itself":         {flowcontrol.Config{Router4: own, PPFC: &flowcontrol.PPFC{Gateways: []flowcontrol.Gateway{{Addrs: []netip.Addr{own}}}}}, false},
		"PPFC to another":        {flowcontrol.Config{Router4: own, PPFC: &flowcontrol.PPFC{Gateways: []flowcontrol.Gateway{{Addrs: []netip.Addr{own}}, {Addrs: []netip.Addr{own, other}}}}}, true},
	} {
		w := strings.Join((&Settings{}).warnings(&tt.c, nil), "; ")
		if strings.Contains(w, "no port of SLUICE_PORT has a threshold") != tt.want {
			t.Errorf("%s: warnings %q", name, w)
		}
	}
}

// Where the switch neither watches nor holds flows, and hosts may be slowed, flows are held at
// their senders, and nothing is sent about queues.
func TestHoldsAtSendersNeedNoQueue(t *testing.T) {
	by := func(s Settings, threshold, hold engine.Method) wanted {
		return wanted{&s, Inputs{Choices: engine.Choices{engine.NeedThreshold: {Method: threshold, Reason: "no events"}, engine.NeedHold: {Method: hold}}}}
	}
	pfcm := Settings{PFCM: true, Task: flowcontrol.Config{Generate: true, Obey: true}}
	want := by(pfcm, engine.None, engine.Source)
	c := want.config()
	if want.unable() != nil || c.Generate || !c.Obey || c.Source == nil {
		t.Errorf("%v, %+v", want.unable(), c)
	}
	if w := want.warnings(c, nil); len(w) != 0 {
		t.Errorf("warnings %q", w)
	}
	if p := want.partial(); p != "" {
		t.Errorf("no queue has a threshold, and PFCM is obeyed: %s", p)
	}
	watched := pfcm
	watched.Thresholds = map[string]Threshold{"Ethernet4": {}}
	if by(watched, engine.None, engine.Source).partial() == "" {
		t.Error("PFCM about queues is configured, none is watched, and that is no fault")
	}
	if by(pfcm, engine.Exact, engine.None).partial() == "" {
		t.Error("PFCM is to be obeyed, no flow can be held, and that is no fault")
	}
	if p := by(Settings{PFCM: true, Task: flowcontrol.Config{Generate: true}}, engine.Exact, engine.None).partial(); p != "" {
		t.Errorf("PFCM is only sent: %s", p)
	}
	if p := by(Settings{PFCM: true, Task: flowcontrol.Config{Obey: true}}, engine.None, engine.Source).partial(); p != "" {
		t.Errorf("nothing about queues is configured: %s", p)
	}
	if c := by(pfcm, engine.Exact, engine.Source).config(); !c.Generate || c.Source == nil {
		t.Errorf("queues are watched: %+v", c)
	}
	if c := by(pfcm, engine.Exact, engine.Exact).config(); c.Source != nil {
		t.Error("the switch holds flows itself")
	}
	advice := Settings{Advice: true, Task: flowcontrol.Config{Advice: &flowcontrol.Advice{}}}
	if err := by(advice, engine.None, engine.Source).unable(); err == nil || err.Error() != "no events" {
		t.Errorf("advice of queues that nothing watches: %v", err)
	}
}

// The configuration of a task is its own: the round-trip time in it leaves the settings as they are.
func TestConfigurationLeavesTheSettingsAsTheyAre(t *testing.T) {
	s := &Settings{Advice: true, Task: flowcontrol.Config{Advice: &flowcontrol.Advice{}, PPFC: &flowcontrol.PPFC{}}}
	c := wanted{s, Inputs{}}.config()
	c.Advice.Pace.RTT = time.Second
	if s.Task.Advice.Pace.RTT != 0 || s.Task.PPFC == nil {
		t.Errorf("%+v", s.Task)
	}
}
