// SPDX-License-Identifier: Apache-2.0

package dissectors

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/notify"
)

// hold is what a real run of three switches sent on two links, by TestHoldOverTwoHops of
// tests/e2e.
const hold = root + "/tests/captures/hold-two-hops.pcapng"

// holdFields are what is asked of tshark about each message.
var holdFields = []string{"frame.number", "frame.interface_name", "ipv6.hlim", "ipv6.src", "ipv6.dst",
	"pfcm.stream_id", "pfcm.queue_id", "pfcm.action", "pfcm.time_us", "pfcm.source", "pfcm.destination"}

// TestWiresharkReadsAHoldOverTwoHops: tshark reads each message of the capture as package
// notify does, and what it reads is a hold that goes up two hops, and its end.
func TestWiresharkReadsAHoldOverTwoHops(t *testing.T) {
	need(t, "tshark", "--version")
	f, err := os.Open(hold)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	want, packets := "", 0
	for n := 1; ; n++ {
		frame, info, err := r.ReadPacketData()
		if err != nil {
			break
		}
		var p notify.Packet
		if p.Parse(frame, notify.DefaultCodePoints()) != nil {
			packets++
			continue
		}
		face, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		m, e := p.PFCM, p.Envelope
		want += fmt.Sprintln(strings.Join([]string{strconv.Itoa(n), face.Name, strconv.Itoa(int(e.HopLimit)), e.Src.String(), e.Dst.String(),
			strconv.Itoa(int(m.StreamID)), strconv.Itoa(int(m.QueueID)), m.Action.String(), strconv.Itoa(int(m.Time)), m.Source.String(), m.Destination.String()}, "\t"))
	}
	args := []string{"-n", "-X", lua, "-r", hold, "-Y", "pfcm", "-T", "fields"}
	for _, name := range holdFields {
		args = append(args, "-e", name)
	}
	out, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Fatalf("notify (-), tshark (+):\n%s", diff)
	}
	// By the name of the link: the times that were asked for, 0: an end.
	asked := map[string][]string{}
	first, streams := "", map[string]bool{}
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if first == "" {
			first = cells[1]
		}
		if cells[7] == "cancel" {
			cells[8] = "0"
		}
		asked[cells[1]] = append(asked[cells[1]], cells[8])
		streams[cells[5]] = true
	}
	if first != "aggregation-core" || len(streams) != 1 {
		t.Errorf("the first message is on %s; streams %v", first, streams)
	}
	for _, link := range []string{"aggregation-core", "edge-aggregation"} {
		if n := len(asked[link]); n < 2 || asked[link][0] == "0" || asked[link][n-1] != "0" {
			t.Errorf("%s: asked for %v µs", link, asked[link])
		}
	}
	if packets < 200 {
		t.Errorf("%d packets of the flow", packets)
	}
}
