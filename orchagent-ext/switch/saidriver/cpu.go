// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"sync/atomic"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// CPU is the packets to the CPU: which of them are copies, and how many the switch dropped.
type CPU struct {
	lib       *sai.Library
	policer   sai.ObjectID  // Null: none
	copied    atomic.Uint64 // the trap of what entries copy to the CPU; Null: none
	port      sai.ObjectID  // of the switch to its CPU; Null: not asked yet
	uncounted bool          // the library does not report that port or its drops
}

// note records an object of the policy through which packets come to the CPU.
func (c *CPU) note(r *engine.Record, id sai.ObjectID) {
	switch r.Key {
	case engine.KeyTrap:
		c.copied.Store(uint64(id))
	case engine.KeyPolicer:
		c.policer = id
	}
}

// Copies reports whether packets to the CPU with a trap are copies, of every packet that
// an entry matches, instead of samples. It may be called from any goroutine.
func (c *CPU) Copies(trap sai.ObjectID) bool {
	return trap != sai.Null && uint64(trap) == c.copied.Load()
}

// Policed is how many packets to the CPU the policer of the policy dropped; 0 without a
// policer.
func (c *CPU) Policed() uint64 {
	if c.policer == sai.Null {
		return 0
	}
	n, _ := c.lib.PolicerRed(c.policer) // 0: it has gone, or the library does not count
	return n
}

// Discards is how many packets to the CPU the switch dropped before its CPU port; nil
// for a library without that counter.
func (c *CPU) Discards() *uint64 {
	if c.uncounted {
		return nil
	}
	if c.port == sai.Null {
		port, err := c.lib.GetObject(saiattr.Switch, c.lib.Switch, saiattr.SwitchCPUPort)
		if err != nil || port == sai.Null {
			c.uncounted = errors.Is(err, sai.ErrNotSupported) || err == nil
			return nil
		}
		c.port = port
	}
	n, err := c.lib.PortDiscards(c.port)
	if err != nil {
		c.uncounted = errors.Is(err, sai.ErrNotSupported)
		return nil
	}
	return &n
}
