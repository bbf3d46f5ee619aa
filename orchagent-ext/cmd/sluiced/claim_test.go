// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/fabric/privateredis"
	"sluice/orchagent-ext/sonicdb"
)

// One sluiced has the databases, whether it programs or removes; another switch's
// databases are free.
func TestClaim(t *testing.T) {
	databases := func() *sonicdb.Databases {
		t.Helper()
		s, err := privateredis.Start(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		d, err := sonicdb.Load(s.Config, "")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one, other := databases(), databases()
	release, err := claim(one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(one); err == nil || !strings.Contains(err.Error(), "another sluiced runs") {
		t.Errorf("claimed twice: %v", err)
	}
	releaseOther, err := claim(other)
	if err != nil {
		t.Fatal(err)
	}
	releaseOther()
	release()
	if release, err = claim(one); err != nil {
		t.Fatalf("not free again: %v", err)
	}
	release()
}
