// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestSilentClientsLockNobodyOut: with far more connections open than are allowed, some
// silent, some with half a request, scrapes and health are answered, and the process
// holds no more descriptors than it may.
func TestSilentClientsLockNobodyOut(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.serve(Config{})
	files := func() int {
		t.Helper()
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := files()
	const hostile = 10 * mostClients
	for i := range hostile {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			_, _ = conn.Write([]byte("GET /metrics HTTP/1.1\r\n")) // the server may have closed it
		}
	}
	for range 100 {
		if code, body, err := fetch(s.url + "/metrics"); err != nil || code != http.StatusOK || !strings.Contains(body, "sluice_metrics_clients_closed_total ") {
			t.Fatalf("%d %v", code, err)
		}
		if code, _, err := fetch(s.url + "/healthz"); err != nil || code != http.StatusOK {
			t.Fatalf("health: %d %v", code, err)
		}
	}
	if now := files() - hostile; now > before+mostClients+10 { // those of the test itself are counted, too
		t.Errorf("%d descriptors, before %d", now, before)
	}
	if n := s.clients.closed.Load(); n < hostile-mostClients {
		t.Errorf("%d were closed, want at least %d", n, hostile-mostClients)
	}
}

func TestClientLimit(t *testing.T) {
	for descriptors, want := range map[uint64]int{0: 4, 64: 4, 256: 16, 1024: 64, 1 << 20: 64} {
		if got := clientLimit(descriptors); got != want {
			t.Errorf("%d descriptors: %d clients, want %d", descriptors, got, want)
		}
	}
}
