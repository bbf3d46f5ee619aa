// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/wire/notify"
	"sluice/tests/fabrictest"
)

// The kernel takes the filter with each choice of rates.
func TestKernelTakesThePolicerOfAnyRates(t *testing.T) {
	p, err := openPolicer()
	if err != nil {
		t.Skip("needs BPF: ", err)
	}
	t.Cleanup(func() { _ = p.close() })
	choices := []MessageRate{{}, {PerSecond: 1000, Burst: 50}, {PerSecond: 10_000_000, Burst: 1_000_000}, {PerSecond: 1, Burst: 1 << 31}}
	for _, ipv6 := range []bool{true, false} {
		for _, pfcm := range choices {
			for _, ppfc := range choices {
				for _, source := range choices {
					rates := messageRates{pfcm, ppfc, source}
					program, err := loadFilter(p.program(ipv6, rates))
					if err != nil {
						t.Errorf("IPv6 %v, %+v: %v", ipv6, rates, err)
						continue
					}
					if err := unix.Close(program); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

// A thread that gets signals loads filters, too: the runtime of Go sends them at any time.
func TestFilterIsLoadedByAThreadThatGetsSignals(t *testing.T) {
	p, err := openPolicer()
	if err != nil {
		t.Skip("needs BPF: ", err)
	}
	t.Cleanup(func() { _ = p.close() })
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, ended := unix.Gettid(), make(chan struct{})
	var signals sync.WaitGroup
	signals.Go(func() {
		each := time.NewTicker(200 * time.Microsecond)
		defer each.Stop()
		for {
			select {
			case <-ended:
				return
			case <-each.C:
				_ = unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
			}
		}
	})
	defer func() {
		close(ended)
		signals.Wait()
	}()
	rate := MessageRate{PerSecond: 1000, Burst: 50}
	program := p.program(true, messageRates{rate, rate, rate})
	for n := range 200 {
		fd, err := loadFilter(program)
		if err != nil {
			t.Fatalf("load %d: %v", n, err)
		}
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}
}

// TestPolicerStaysWithAnotherConfiguration: where PPFC has no rate, since it is not enabled, PFCM
// is policed by the rate that was configured last.
func TestPolicerStaysWithAnotherConfiguration(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	c := &MessageConfig{
		Codes: notify.DefaultCodePoints(), Senders: []MessageSender{{uint32(b.Index), a.LinkLocal}}, PFCMRate: MessageRate{PerSecond: 1_000_000, Burst: 100_000},
	}
	m := messages(t, b, c)
	if m.noPolice != nil {
		t.Skip("needs BPF: ", m.noPolice)
	}
	slower := *c
	slower.PFCMRate = MessageRate{PerSecond: 1, Burst: 5}
	if err := errors.Join(m.Unpoliced(), m.Configure(&slower), m.Unpoliced()); err != nil {
		t.Fatal(err)
	}
	const n = 200
	s, before := sender(t, a), fabrictest.NeverArrived(t)
	send(t, s, slices.Repeat([][]byte{frameOf(t, a, pfcm(notify.ICMPv6, 1), nil)}, n)...)
	received, begin, dst := 0, time.Now(), make([]Message, maxBatch)
	lost := func() int { return int(fabrictest.NeverArrived(t) - before) }
	for deadline := begin.Add(patience); received+int(m.Policed(notify.KindPFCM))+lost() < n && time.Now().Before(deadline); received += m.Receive(dst) {
	}
	if most := 5 + 1 + int(time.Since(begin).Seconds()); received > most || received < 5-lost() {
		t.Errorf("%d of %d messages were received, %d dropped by rate, %d lost on their way", received, n, m.Policed(notify.KindPFCM), lost())
	}
}
