// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

// TestLiveAdapterObeysAPFCM: `sluice-lab gen --dev` sends whole packets, stops the one queue pair that
// a PFCM names for as long as it says, and goes on with the other. Host B pauses the first one again and
// again, and what arrives of it is no more than its rate gives in the time in which nothing held it.
func TestLiveAdapterObeysAPFCM(t *testing.T) {
	p := fabrictest.Pair(t)
	w := fabrictest.NewHosts(t, p.A, p.B)
	fd, err := p.B.PacketSocket(unix.ETH_P_ALL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20); err != nil { // for all that is sent
		t.Fatal(err)
	}
	sender, err := p.B.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()

	received := nic.NewReceiver(time.Now().UnixNano(), 10*time.Millisecond, liveFirstQP, liveFirstQP+1)
	ctx, cancel := context.WithCancel(t.Context())
	sunk := make(chan error, 1)
	go func() { sunk <- nic.Sink(ctx, fd, received) }()

	var out strings.Builder
	cmd := exec.Command(w.Program, strings.Fields("gen --dev eth0 --dst "+fabric.HostB.Addr().String()+
		" --qps 2 --rate 5 --flow-labels --for 600ms --obey pfcm --json")...)
	cmd.Stdout, cmd.Stderr = &out, &out
	pause := pauseOf(t, p, liveLabel)
	process, err := p.A.Node.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	// As long as it sends, the first queue pair is held again and again.
	sent, pace := 0, time.NewTicker(10*time.Millisecond)
	defer pace.Stop()
	for running := true; running; sent++ {
		if err := sender.Send(pause); err != nil {
			t.Fatal(err)
		}
		select {
		case <-process.Done():
			running = false
		case <-pace.C:
		}
	}
	if err := process.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	cancel()
	if err := <-sunk; err != nil {
		t.Fatal(err)
	}
	var said struct {
		Packets, Octets, PFCM, Refused uint64
		Seconds                        float64
		Held                           int64 `json:"held_us"`
	}
	text := out.String()
	if err := json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &said); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	held, free := received.Flows[liveFirstQP], received.Flows[liveFirstQP+1]
	const rate = 5e6 // bit/s of a queue pair
	perSecond := rate * float64(said.Packets) / float64(8*said.Octets)
	most := 1.1*perSecond*(said.Seconds-float64(said.Held)/1e6) + 3 // those of one turn of its loop
	t.Logf("%d pauses sent; %s; arrived of the held flow %d, at most %.1f, of the other %d", sent, text, held.Packets, most, free.Packets)
	if said.PFCM == 0 || said.Refused != 0 || said.Held == 0 {
		t.Errorf("counters %+v", said)
	}
	if got := held.Packets + free.Packets; got != said.Packets || held.Missing+free.Missing+held.Reordered+free.Reordered+received.BadICRC != 0 {
		t.Errorf("%d of %d packets arrived whole; %+v %+v, bad ICRC %d", got, said.Packets, held, free, received.BadICRC)
	}
	if float64(held.Packets) > most || free.Packets == 0 {
		t.Errorf("%d packets of the held queue pair arrived, want at most %.1f, and %d of the other", held.Packets, most, free.Packets)
	}
}

// pauseOf is a PFCM from host B that pauses A's flow with a label for 65 ms.
func pauseOf(t *testing.T, p *fabric.Pair, label uint32) []byte {
	t.Helper()
	a, b := fabric.HostA.Addr(), fabric.HostB.Addr()
	m := &notify.PFCM{StreamID: flow.HashStreamID(0, a.As16(), b.As16(), label), Action: notify.Pause, Time: 65_000, Source: a, Destination: b}
	e := notify.DefaultEnvelope(m.Kind())
	e.Src, e.Dst, e.SrcMAC, e.DstMAC = p.B.LinkLocal, p.A.LinkLocal, roce.MAC(p.B.MAC), roce.MAC(p.A.MAC)
	frame, err := notify.AppendFrame(nil, m, &e, notify.DefaultCodePoints())
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestGenSaysWhichFlagsGoTogether(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"gen", "a file for the packets is missing"},
		{"gen out.pcap --dev eth0 --dst ::1", "either OUT or --dev"},
		{"gen out.pcap --rate 3", "--rate needs --dev"},
		{"gen --live lo --pairs 2", "--pairs is not for --dev"},
		{"gen --dev lo", "--dev needs --dst"},
		{"gen --live lo --to ::1 --obey pause", "allowed are pfcm, pfc, advice, cnp"},
		{"gen --live lo --to ::1 --for 0s", "must be more than 0"},
		{"gen --dev lo --dst 10.0.0.1 --src ::1", "--src ::1 and --dst 10.0.0.1 are of two families"},
		{"gen --dev lo --dst 10.0.0.1 --flow-labels", "IPv4 has none"},
		{"gen --dev lo --dst ::ffff:10.0.0.1 --obey pfcm", "PFCM is about flows over IPv6"},
		{"gen --live lo --to ::1 --dscp 64", "0 to 63"},
		{"gen --live lo --to ::1 --priority 8", "0 to 7"},
		{"gen --live lo --to ::1 --payload 8", "a multiple of 4 from 16"},
		{"gen --live lo --to ::1 --next-hop-mac 02:00:00:00:00:01 --from ::1 --rate 0", "is not a rate of 1 bit/s to"},
		{"gen --dev lo --dst ::1 --rate 1GBps", "is not a rate, such as 1Gbps"},
		{"gen out.pcap --count 3", "--count needs --dev"},
		{"verify", "verify needs --dev"},
		{"gen --live no-such-device --to ::1 --next-hop-mac 02:00:00:00:00:01 --from ::1", "no-such-device"},
	} {
		root := NewRootCommand("test")
		root.SetArgs(strings.Fields(c.args))
		var out strings.Builder
		root.SetOut(&out)
		root.SetErr(&out)
		if err := root.Execute(); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}
