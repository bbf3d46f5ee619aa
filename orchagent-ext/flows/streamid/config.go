// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"sluice/orchagent-ext/host/etcd"
)

const (
	// Validity is how long a node uses its ids after etcd last answered.
	Validity = 10 * time.Second
	// Quarantine is how long an id stays reserved after its last use.
	Quarantine = 5 * time.Second
)

// Config of a [Global]. An empty field has the default beside it. The flows of a domain
// share the ids.
type Config struct {
	etcd.Config

	// name of this node, for people who read etcd; default: the host's name
	Node           string
	Classification Classification // key of flows
	Seed           uint32         // of the id that is tried first, as in scope "hash"

	// Changed is called for a flow whose id changed after the node lost its lease and took
	// another. Lease is called when the node gets a lease (true) and when it loses it
	// (false): its ids are invalid then. Run calls both, so they must return at once. Both
	// may be nil.
	Changed func(Change)
	Lease   func(valid bool)
	Log     *slog.Logger // or nil
}

// complete puts in the defaults.
func (c *Config) complete() {
	c.Complete()
	if c.Node == "" {
		c.Node, _ = os.Hostname() // only for people who read etcd
	}
	if c.Changed == nil {
		c.Changed = func(Change) {}
	}
	if c.Lease == nil {
		c.Lease = func(bool) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// check returns the first error of the configuration, without reading the files.
func (c *Config) check() error {
	if c.Classification > By5Tuple {
		return fmt.Errorf("classification %d: %d (flow label) and %d (5-tuple) are allowed", c.Classification, ByFlowLabel, By5Tuple)
	}
	return c.Check()
}
