// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// A report is report.json. Spread, Advice and Hold are nil where their scenarios did not run.
type report struct {
	Checks []check            `json:"checks"`
	Spread *spread            `json:"spread,omitempty"`
	Advice map[string]*advice `json:"advice,omitempty"` // by how connections were set up: cm or tcp
	Hold   map[string]*losses `json:"hold,omitempty"`   // configured method: none or pfcm
}

// A check is one comparison, as texts that people read.
type check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// spread is max ÷ mean of the packets on the uplinks, by the method that chose the paths.
type spread struct {
	FiveTuple float64 `json:"five_tuple"`
	Hash      float64 `json:"hash"`
	Placed    float64 `json:"placed"`      // moves=any
	Idle      float64 `json:"placed_idle"` // moves=idle
	Redirect  float64 `json:"redirect"`
}

// advice is how Rate Advice reached the connections that shared a full port.
type advice struct {
	Flows      int     `json:"flows"`
	Advised    int     `json:"advised"`
	SecondsP95 float64 `json:"seconds_p95"` // from the first packet to the first advice
	ShareMin   float64 `json:"share_min"`   // of a connection's rate in the fair one
	ShareMax   float64 `json:"share_max"`
}

// losses are those of a port that overflows.
type losses struct {
	Drops   int `json:"drops"`   // packets, by the port's queue
	NAKs    int `json:"naks"`    // of the receiver's adapter, for a gap in the sequence
	Retries int `json:"retries"` // of the sender's adapter

	// The longest times, as sluiced measured them: from a mark passed to the message sent, and from
	// there to the flow held. "" without holds.
	ReactionMicros string `json:"reaction_us_max,omitempty"`
	EnforceMicros  string `json:"enforce_us_max,omitempty"`
}

// judge adds a check that got is what was expected.
func (r *report) judge(name string, expected, got any) {
	c := check{Name: name, Expected: fmt.Sprint(expected), Got: fmt.Sprint(got)}
	c.OK = c.Expected == c.Got
	r.add(c)
}

// holds adds a check of a bar, which got is beside.
func (r *report) holds(name string, ok bool, bar string, got any) {
	r.add(check{Name: name, OK: ok, Expected: bar, Got: fmt.Sprint(got)})
}

func (r *report) add(c check) {
	verdict := "ok    "
	if !c.OK {
		verdict = "FAILED"
	}
	fmt.Printf("  %s  %s: expected %s, got %s\n", verdict, c.Name, c.Expected, c.Got)
	r.Checks = append(r.Checks, c)
}

// failed returns the number of failed checks.
func (r *report) failed() (n int) {
	for _, c := range r.Checks {
		if !c.OK {
			n++
		}
	}
	return n
}

func (r *report) write(file string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // bars have <= in them
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o666)
}
