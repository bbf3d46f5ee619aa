// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/sim/load"
	"sluice/orchagent-ext/sim/scenario"
	"sluice/orchagent-ext/wire/roce"
)

// Beside reads files whose names, where they are relative, are those of files beside another one.
func Beside(ctx context.Context, other string) scenario.Files {
	return func(name string) ([]load.Seen, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(other), name)
		}
		return Read(ctx, name)
	}
}

// Read reads a file: IPFIX by its first octets, else a capture. Reading ends soon after ctx.
func Read(ctx context.Context, name string) ([]load.Seen, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if head, _ := r.Peek(2); bytes.Equal(head, []byte{0, ipfixVersion}) {
		all, err := records(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return all, nil
	}
	return messages(ctx, name)
}

// connection is one direction of a connection, as packets name it.
type connection struct {
	src, dst [16]byte
	qp       uint32
}

// open is the message of a connection that is under way.
type open struct {
	index int    // in the list, or -1
	point uint32 // where the connection was first seen: only packets there count
}

// messages reads the messages of a capture: each begins with a packet whose opcode says so, or
// with the first packet that is there of it.
func messages(ctx context.Context, name string) ([]load.Seen, error) {
	r, err := capture.Open(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []load.Seen
	under := map[connection]*open{}
	var p roce.Packet
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if f.Parse(&p, roce.LookThrough) != nil || !p.Opcode().CarriesData() {
			continue
		}
		c := connection{p.Src16(), p.Dst16(), p.DestQP()}
		m := under[c]
		if m == nil {
			m = &open{index: -1, point: f.Point()}
			under[c] = m
		}
		if m.point != f.Point() {
			continue
		}
		at := f.Nanos()
		if at == flow.NoTime {
			return nil, fmt.Errorf("%s: packet %d has no time (a simple packet block of pcapng): a replay needs that of each packet", name, f.Number)
		}
		if m.index < 0 || begins(p.Opcode()) {
			m.index = len(all)
			all = append(all, load.Seen{Src: p.Src(), Dst: p.Dst(), QP: uint64(c.qp), Start: at, End: at})
		}
		all[m.index].Octets += int64(max(p.PayloadLen(), 0))
	}
}

// begins reports whether a packet begins a message. The low 5 bits are the same in all services.
func begins(o roce.Opcode) bool {
	switch o & 0x1f {
	case roce.RCSendFirst, roce.RCSendOnly, roce.RCSendOnlyImm, roce.RCWriteFirst, roce.RCWriteOnly, roce.RCWriteOnlyImm,
		roce.RCReadResponseFirst, roce.RCReadResponseOnly, roce.RCSendOnlyInv, roce.RCAtomicWrite:
		return true
	}
	return false
}
