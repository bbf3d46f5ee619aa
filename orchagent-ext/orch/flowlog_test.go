package orch

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/asic"
	"sluice/yang/rows"
)

func TestFlowLog(t *testing.T) {
	flow := func(qp uint32) asic.FlowEntry {
		return asic.FlowEntry{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), DestQP: qp, Label: qp + 1}
	}
	counts := map[uint32]uint64{1: 0, 2: 10}
	count := func(f asic.FlowEntry) (uint64, uint64, error) {
		n, ok := counts[f.DestQP]
		if !ok {
			return 0, 0, errors.New("gone")
		}
		return n, 100 * n, nil
	}
	var l flowLog
	now := time.Unix(1000, 0)
	l.add([]asic.FlowEntry{flow(1), flow(2), flow(3)}, now)
	if idle := l.look(count, now); len(idle) > 0 || len(l.seen) != 2 || l.total != 10 {
		t.Errorf("idle %v, %d known, %d packets", idle, len(l.seen), l.total)
	}
	all := l.rows(l.heaviest(), func(f asic.FlowEntry) uint16 { return uint16(f.DestQP - 1) })
	if len(all) != 2 || all[0].Fields["dest_qp"] != "2" || all[0].Fields["bytes"] != "1000" || all[0].Fields["stream_id"] != "1" || all[1].Fields["stream_id"] != "" {
		t.Errorf("%v", all)
	}
	for _, r := range all {
		if _, err := rows.Decode(r); err != nil {
			t.Error(err)
		}
	}
	counts[2] = 15
	if idle := l.look(count, now.Add(flowIdle+time.Second)); len(idle) != 1 || idle[0] != flow(1) || l.total != 15 {
		t.Errorf("idle %v, %d packets", idle, l.total)
	}
	if len(l.seen) != 1 {
		t.Errorf("%d known", len(l.seen))
	}
}
