// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFewDescriptors: with 1024 descriptors and more clients of /metrics than that, a switch
// whose ports are fixed is opened again when a port comes, and labels go on.
func TestFewDescriptors(t *testing.T) {
	const descriptors, clients = 1024, 1500
	var mine unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &mine); err != nil || mine.Cur < 2*clients {
		t.Fatalf("this test itself needs %d descriptors, and has %d (%v)", 2*clients, mine.Cur, err)
	}
	l := newLeaf(t)
	l.launchWith([]string{"prlimit", "--nofile=1024:1024"}, "--sai-profile", hidden+"reload")
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "inactive")
	l.enable()
	l.allLabelled()
	var served atomic.Int64
	err := l.Leaf.Do(func() error {
		for range clients {
			conn, err := (&net.Dialer{Timeout: patience}).Dial("tcp", "127.0.0.1:9475")
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() { // a client that asks and keeps its connection, as long as it can
				if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
					return
				}
				if n, err := conn.Read(make([]byte, 100)); n > 0 && err == nil {
					served.Add(1)
				}
			}()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.in("ip", "link", "add", "new0", "type", "veth", "peer", "name", "far0")
	l.set("PORT", "new0", "admin_status", "up")
	l.set("SLUICE_PORT", "new0", "role", "edge")
	l.awaitPort("new0", true)
	l.allLabelled()
	for deadline := time.Now().Add(patience); served.Load() == 0; time.Sleep(poll) {
		if time.Now().After(deadline) {
			t.Fatal("no client of /healthz was served")
		}
	}
	if !strings.Contains(l.log.String(), reopened) {
		t.Error("the switch was not opened again")
	}
	t.Logf("%d of %d clients were served", served.Load(), clients)
}
