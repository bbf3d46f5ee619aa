// SPDX-License-Identifier: Apache-2.0

// Package fabrictest gives tests a fabric that is removed when they end. Where
// the machine, or the user, cannot have one the test is skipped with the reason.
package fabrictest

import (
	"errors"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
)

// New returns an empty fabric.
func New(tb testing.TB) *fabric.Fabric {
	tb.Helper()
	f, err := fabric.New()
	Check(tb, err)
	tb.Cleanup(func() {
		if err := f.Close(); err != nil {
			tb.Errorf("remove the fabric: %v", err)
		}
	})
	return f
}

// Check ends the test when err is not nil: a machine that cannot run fabrics skips it,
// any other error fails it.
func Check(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, fabric.ErrNotSupported) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Pair builds two hosts on one link.
func Pair(tb testing.TB) *fabric.Pair { return build(tb, (*fabric.Fabric).Pair) }

// Routed builds host – router – host.
func Routed(tb testing.TB) *fabric.Routed { return build(tb, (*fabric.Fabric).Routed) }

// Chain builds two hosts, three switches in a row and two hosts.
func Chain(tb testing.TB) *fabric.Chain { return build(tb, (*fabric.Fabric).Chain) }

// Clos builds two leaves and two spines, with a host behind each leaf.
func Clos(tb testing.TB) *fabric.Clos { return build(tb, (*fabric.Fabric).Clos) }

// LeafSpine builds host – leaf == n uplinks == spine – host.
func LeafSpine(tb testing.TB, n int) *fabric.LeafSpine {
	return build(tb, func(f *fabric.Fabric) (*fabric.LeafSpine, error) { return f.LeafSpine(n) })
}

func build[Shape any](tb testing.TB, shape func(*fabric.Fabric) (*Shape, error)) *Shape {
	tb.Helper()
	s, err := shape(New(tb))
	Check(tb, err)
	return s
}
