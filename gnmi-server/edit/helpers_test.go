// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

const (
	gold  = "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]"
	iron  = "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=iron]"
	table = "/sonic-sluice/SLUICE_THRESHOLD"
	label = "/sonic-sluice/SLUICE_FLOW_LABEL/global"
	peers = "/sonic-sluice/SLUICE_PPFC_PEER"
)

// path parses a path; sonic-db:/… has that origin.
func path(text string) *gpb.Path {
	origin, rest := "", strings.TrimPrefix(text, "/")
	if sonic, is := strings.CutPrefix(text, "sonic-db:/"); is {
		origin, rest = "sonic-db", sonic
	}
	p, err := ygot.StringToStructuredPath("/" + rest)
	if err != nil {
		panic(err)
	}
	p.Origin = origin
	return p
}

func set(p, json string) *gpb.Update {
	return &gpb.Update{Path: path(p), Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(json)}}}
}

// config makes rows of texts: "TABLE|key field=value field=value".
func config(texts ...string) []rows.Row {
	var all []rows.Row
	for _, text := range texts {
		parts := strings.Fields(text)
		table, key, _ := strings.Cut(parts[0], "|")
		r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
		for _, p := range parts[1:] {
			f, v, _ := strings.Cut(p, "=")
			r.Fields[f] = v
		}
		all = append(all, r)
	}
	return all
}

// texts is the opposite of config for what changes; a row that is gone is
// "TABLE|key gone".
func texts(changes []sonicdb.Change) []string {
	var all []string
	for _, c := range changes {
		text := c.Row.Name()
		if c.Deleted {
			text += " gone"
		}
		for _, f := range slices.Sorted(maps.Keys(c.Row.Fields)) {
			text += fmt.Sprintf(" %s=%s", f, c.Row.Fields[f])
		}
		all = append(all, text)
	}
	return all
}

// outcome returns what a request makes of rows, or the error, of whichever step.
func outcome(t *testing.T, before []rows.Row, r *gpb.SetRequest) ([]string, error) {
	t.Helper()
	operations, err := Operations(r, nil)
	if err != nil {
		return nil, err
	}
	now := NewConfig(before)
	next, err := now.Apply(operations)
	if err != nil {
		return nil, err
	}
	if err := now.Check(next); err != nil {
		return nil, err
	}
	return texts(now.Changes(next)), nil
}
