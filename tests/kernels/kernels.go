// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"

	"sluice/tests/guest"
)

// A kernel is that of a suite of Debian.
type kernel struct {
	name  string // its first two numbers
	suite string
	base  string // the suite that backports are for
	old   bool   // sluiced refuses it
}

var kernels = []kernel{
	{name: "6.12", suite: "trixie"},
	{name: "7.3", suite: "trixie-backports", base: "trixie"},
	{name: "6.1", suite: "bookworm", old: true},
}

// A feature is shown by one test of tests/e2e.
type feature struct {
	name, test string
	soak       bool // the test is one of those that make soak runs
}

var features = []feature{
	{name: "labels", test: "TestRewriteKeepsLabels"},
	{name: "labels over changes of configuration", test: "TestRewriteKeepsLabelsOverChangesOfConfiguration"},
	{name: "placement", test: "TestPlacedLabelsOutliveSluiced"},
	{name: "redirect", test: "TestCheckTimesEntriesThatRedirect"},
	{name: "export", test: "TestCopiesAreNoSamples"},
	{name: "source queue pairs", test: "TestFewPacketsTeachQueuePairs"},
	{name: "health", test: "TestFlowsTellHowTheyFare"},
	{name: "round-trip times", test: "TestRoundTripsToHostsAreMeasured", soak: true},
	{name: "queues", test: "TestQueuesOfTheSoftwareSwitchAreCounted"},
	{name: "Stream IDs", test: "TestStreamIDs"},
	{name: "hold by PFCM", test: "TestHoldUpstream"},
	{name: "hold by PPFC", test: "TestGatewayHoldsTheFlowOfTheMessage"},
	{name: "hold at the sender", test: "TestHoldBySource"},
	{name: "estimated flows in queues", test: "TestSampledNamesTheFlowsThatFillAQueue"},
	{name: "Rate Advice", test: "TestGatewayAdvisesTheClientsThatMayBe"},
	{name: "SRv6", test: "TestSRv6End"},
	{name: "restart", test: "TestKilledSluicedCostsNoPacketAndNoLabel"},
}

// modules of the kernel that a fabric and the software switch use, where they are not built in.
var modules = []string{
	"veth", "sch_ingress", "cls_bpf", "act_bpf", "act_sample", "psample", "sch_netem", "sch_tbf", "sch_prio", "sch_htb", "sch_fq_codel",
	"cls_matchall", "cls_flower", "act_gact", "act_mirred", "act_police", "act_skbedit",
	"dummy", "tun", "bridge", "8021q", "vrf", "bonding", "ip6_tunnel", "ip_tunnel", "sit", "mpls_router", "mpls_iptunnel", "crc32_generic", "crc32c_generic",
}

// contents are those of a guest: programs of this machine, and the tests.
func (b *built) contents(kernelRoot string) guest.Contents {
	const source = "sluice" // the source, of which there are folders for tests to run in
	c := guest.Contents{
		Kernel: kernelRoot, Modules: modules, Root: "/",
		Programs: []string{"usr/bin/redis-server", "usr/bin/redis-cli", "usr/bin/ip", "usr/sbin/tc", "lib/x86_64-linux-gnu/libgcc_s.so.1"},
		Files:    map[string]string{},
	}
	for name, file := range b.files {
		c.Files[filepath.Join(source, name)] = file
	}
	return c
}

// image makes the image of a kernel.
func (b *built) image(ctx context.Context, k kernel, from guest.Suite, folder string) (guest.Image, error) {
	from.Name, from.Base = k.suite, k.base
	root, err := from.Unpack(ctx, folder, "busybox-static")
	if err != nil {
		return guest.Image{}, err
	}
	return b.contents(root).Make(folder)
}
