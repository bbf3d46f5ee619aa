// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"time"

	"sluice/tests/site"
)

// A scenario is one kind of weather.
type scenario struct {
	name  string
	about string // for who watches
	short bool   // TestShortScenariosMeetTheirBars runs its short form
	run   func(context.Context, *stage) (*result, error)
}

// A stage is where a scenario runs.
type stage struct {
	bin    string // folder of the programs
	folder string // for databases; it is removed
	log    string // file of the log of sluiced
	short  bool   // the short form is wanted

	turns site.Turns // of all switches
}

// files are those of a switch of the stage.
func (st *stage) files(name string) site.Files {
	return site.Files{Programs: st.bin, Folder: filepath.Join(st.folder, name), Log: st.log, Turns: &st.turns}
}

// scenarios are all, in the order in which they run.
var scenarios = []scenario{
	placed("bursts-100ms", "64 flows of unlike sizes burst for 40 ms each 100 ms", true, burstLoad{period: 100 * time.Millisecond, burst: 40 * time.Millisecond, uplinks: 4}),
	placed("bursts-1s", "64 flows of unlike sizes each burst for 100 ms each second, at moments of their own", false, burstLoad{period: time.Second, burst: 100 * time.Millisecond, uplinks: 4, apart: true}),
	placed("bursts-3s", "64 flows of unlike sizes each burst for 300 ms each 3 seconds, at moments of their own", false, burstLoad{period: 3 * time.Second, burst: 300 * time.Millisecond, uplinks: 4, apart: true}),
	placed("weights-3-2-1", "48 equal flows on three uplinks with weights 3, 2 and 1", false, burstLoad{period: 100 * time.Millisecond, burst: 40 * time.Millisecond, uplinks: 3, weights: []int{3, 2, 1}, equal: 48}),
	placed("weights-1-1-2-2-4", "60 equal flows on five uplinks with weights 1, 1, 2, 2 and 4", false, burstLoad{period: 100 * time.Millisecond, burst: 40 * time.Millisecond, uplinks: 5, weights: []int{1, 1, 2, 2, 4}, equal: 60}),
	placed("bursts-300ms", "64 flows of unlike sizes each burst for 100 ms each 300 ms, at moments of their own", false, burstLoad{period: 300 * time.Millisecond, burst: 100 * time.Millisecond, uplinks: 4, apart: true}),
	placed("bursts-2s", "64 flows of unlike sizes each burst for 200 ms each 2 seconds, at moments of their own", false, burstLoad{period: 2 * time.Second, burst: 200 * time.Millisecond, uplinks: 4, apart: true}),
	placed("weights-2-1-1", "48 equal flows on three uplinks with weights 2, 1 and 1", false, burstLoad{period: 100 * time.Millisecond, burst: 40 * time.Millisecond, uplinks: 3, weights: []int{2, 1, 1}, equal: 48}),
	placed("weights-5-3-1", "54 equal flows on three uplinks with weights 5, 3 and 1", false, burstLoad{period: 100 * time.Millisecond, burst: 40 * time.Millisecond, uplinks: 3, weights: []int{5, 3, 1}, equal: 54}),
	{name: "links", about: "an uplink goes and comes back while flows burst and their sizes change", run: links},
	{name: "endless", about: "24 flows that never pause, on paths that differ by 10 ms", run: endless},
	{name: "churn", about: "500 flows alive, each replaced after 50 ms", run: churn},
	{name: "cpu-hogs", about: "bursts while every CPU is busy with something else", run: hogs},
	{name: "three-hops", about: "two slow ports behind three switches, with IPv4, TCP and ICMP beside the flows that are held", run: threeHops},
	{name: "flap", about: "the link behind which flows are held goes down each 5 seconds", run: flap},
	{name: "storm", about: "100,000 forged messages a second at the switch that holds", run: storm},
	{name: "half-ignore", about: "half of the senders ignore Rate Advice", run: halfIgnore},
	{name: "fair-share", about: "one of four senders ignores Rate Advice, and no flow is held", run: fairShare},
	{name: "ipv4-elephants", about: "flows of IPv4 fill a queue, and small ones are behind them", run: ipv4Elephants},
	{name: "many-holds", about: "256 flows fill a queue, each asked to be held for 60 ms", run: manyHolds},
	{name: "holds-end", about: "all holds end at once: PFCM disabled, sluiced terminated or killed", short: true, run: holdsEnd},
	{name: "all-together", about: "placement, PFCM and Rate Advice at once", run: allTogether},
}
