// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/hold/sampled"
	"sluice/tests/configtest"
)

// TestQueuesThatAreReadAreNamed: only queues of thresholds with sampling_rate are read, of ports that have
// them, the first 16; and none where nothing is sent.
func TestQueuesThatAreReadAreNamed(t *testing.T) {
	port := func(name, threshold string) []string {
		return []string{"SLUICE_PORT", name, "role=fabric", "threshold=" + threshold}
	}
	rows := [][]string{
		configtest.Port0, configtest.Port4, {"PORT", "Ethernet8", "lanes=8", "speed=100000"}, {"PORT", "Ethernet12", "lanes=12", "speed=100000"},
		{"SLUICE_THRESHOLD", "read", "high_bytes=1000", "sampling_rate=256", "queues@=1,3"},
		{"SLUICE_THRESHOLD", "more", "high_bytes=1000", "sampling_rate=256", "queues@=0,1,2,3,4,5,6,7"},
		{"SLUICE_THRESHOLD", "exact", "high_bytes=1000", "queues@=2"},
		{"SLUICE_PFCM", "global", "admin_state=enabled"},
		port("Ethernet0", "read"), port("Ethernet4", "exact"),
	}
	s := Of(configtest.Snapshot(t, rows...))
	if names, more := s.Control.Read, s.Control.Unread; !cmp.Equal(names, []string{"Ethernet0:1", "Ethernet0:3"}) || more != 0 {
		t.Errorf("%v, %d more", names, more)
	}
	if p := s.Policy; !cmp.Equal(p.Depths.Queues, []string{"Ethernet0:1", "Ethernet0:3"}) || p.Watch != 256 {
		t.Errorf("%+v", p)
	}
	s = Of(configtest.Snapshot(t, append(rows, port("Ethernet8", "more"), port("Ethernet12", "more"))...))
	if names, more := s.Control.Read, s.Control.Unread; len(names) != sampled.MostQueues || more != 2 {
		t.Errorf("%v, %d more", names, more)
	}
	rows[7] = []string{"SLUICE_PFCM", "global", "admin_state=disabled"}
	s = Of(configtest.Snapshot(t, rows...))
	if names, more := s.Policy.Depths.Queues, s.Control.Unread; names != nil || more != 0 {
		t.Errorf("%v, %d more, and no message is sent", names, more)
	}
}
