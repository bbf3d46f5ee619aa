// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/wire/roce"
)

// healthColumns are those of the table.
var healthColumns = output.Columns{
	Header: []string{"SRC", "DST", "DST-QP", "SRC-QP", "PACKETS", "CE", "MBIT/S", "MESSAGES", "P50", "GAPS", "LOST", "REORDERED", "DUPLICATES", "RESENT", "NAKS", "CNPS", "RTT-P50", "RTT-P99", "STALLS"},
	Spare:  []string{"STALLS", "P50", "MESSAGES", "RTT-P50", "RTT-P99", "SRC-QP", "DUPLICATES", "GAPS", "REORDERED", "RESENT", "MBIT/S", "CNPS", "CE", "PACKETS"},
}

// row returns the record as a row, which is valid until the next one. Answers are in the row of the
// direction that they are about; where that is unknown they are in the row of their sender, with
// the word "sent".
func (r *healthRecord) row(t *texts, known hosts) []string {
	t.word(known.text(r.Src)).word(known.text(r.Dst))
	t.add(appendQP(t.b, r.DstQP))
	t.word(srcQPText(r.SrcQP)).number(r.Packets)
	t.add(append(strconv.AppendFloat(t.b, 100*r.CEShare, 'f', 2, 64), '%'))
	if r.Goodput != nil && r.Payload > 0 {
		t.add(strconv.AppendFloat(t.b, *r.Goodput/1e6, 'f', 1, 64))
	} else {
		t.word("-")
	}
	if m := r.Messages; m != nil {
		t.number(m.Count)
		t.add(strconv.AppendFloat(t.b, m.P50, 'f', 0, 64))
	} else {
		t.word("-").word("-")
	}
	t.number(r.Gaps).number(r.Lost).number(r.Reordered).number(r.Duplicates).number(r.Retransmitted)
	of, said := r.Received, ""
	if of == nil {
		of, said = &r.Sent, "sent "
	}
	t.word(of.naks(said)).word(of.cnps(said))
	if rtt := r.RTT; rtt != nil {
		t.micros(rtt.P50, 1).micros(rtt.P99, 1)
	} else {
		t.word("-").word("-")
	}
	if r.Stalls > 0 {
		t.b = append(strconv.AppendUint(t.b, r.Stalls, 10), ", "...)
		t.micros(r.LongestStall, 0)
	} else {
		t.word("-")
	}
	return t.take()
}

// naks returns the kinds of NAKs with their numbers, after the side that sent them; "-"
// without any.
func (a *answers) naks(said string) string {
	var list []string
	for why := roce.NotNAK + 1; why < roce.NumNAKs && len(a.NAKs) > 0; why++ {
		if n := a.NAKs[why.String()]; n > 0 {
			list = append(list, fmt.Sprintf("%s:%d", why, n))
		}
	}
	if list == nil {
		return "-"
	}
	return said + strings.Join(list, ",")
}

// cnps returns the number of CNPs after the side that sent them; "-" for 0.
func (a *answers) cnps(said string) string {
	if a.CNPs == 0 {
		return "-"
	}
	return said + fmt.Sprint(a.CNPs)
}
