// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"context"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cpu/packetio"
	sai "sluice/sai-shim"
)

// turning is a switch that counts the turns of the task, and knows its thread.
type turning struct {
	*raised
	thread, turns atomic.Int64
}

func (s *turning) ReadFlowEvents(dst []sai.FlowEvent) (int, uint64) {
	s.thread.Store(int64(unix.Gettid()))
	s.turns.Add(1)
	return s.raised.ReadFlowEvents(dst)
}

// noMessages is a transport that nothing comes by.
type noMessages struct{}

func (noMessages) FDs() [2]int                           { return [2]int{-1, -1} }
func (noMessages) Receive([]packetio.Message) int        { return 0 }
func (noMessages) Send(uint32, netip.Addr, []byte) error { return nil }
func (noMessages) SendFrame(uint32, []byte) error        { return nil }
func (noMessages) Route([]byte) error                    { return nil }

// The thread has real-time priority again after the kernel took it, although the thread used hardly
// any CPU time: a hypervisor that takes the CPU away lets the bound pass.
func TestThreadHasItsPriorityBackAfterTheKernelTookIt(t *testing.T) {
	s := &turning{raised: newRaised(t)}
	task, err := New(s, s.fd, noMessages{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- task.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = task.Close()
	}()
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patienceOfTests); !is(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
			task.wake()
		}
	}
	until("the task makes no turn", func() bool { return s.turns.Load() > 1 })
	if why := task.Realtime(); why != "" {
		t.Skip(why)
	}
	for range 3 {
		before := s.turns.Load()
		if err := unix.Tgkill(os.Getpid(), int(s.thread.Load()), unix.SIGXCPU); err != nil {
			t.Fatal(err)
		}
		until("the task makes no more turns", func() bool { return s.turns.Load() > before+2 })
		until("the thread has ordinary priority", func() bool {
			a, err := unix.SchedGetAttr(int(s.thread.Load()), 0)
			return err == nil && a.Policy == unix.SCHED_FIFO
		})
	}
}
