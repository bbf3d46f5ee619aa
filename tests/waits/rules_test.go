// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUsesOfTheClockAreFound: each kind, and what is none.
func TestUsesOfTheClockAreFound(t *testing.T) {
	for name, tt := range map[string]struct {
		source string
		want   []string
	}{
		"a sleep":                  {`func f() { time.Sleep(d) }`, []string{"sleep"}},
		"a sleep by a channel":     {`func f() { <-time.After(d) }`, []string{"sleep"}},
		"a poll":                   {`func f() { for end := time.Now().Add(patience); !done(); time.Sleep(d) { if time.Now().After(end) { fail() } } }`, nil},
		"a poll of two events":     {`func f() { for end := time.Now().Add(patience); ; { select { case <-done: case <-time.After(time.Second): } } }`, nil},
		"a poll without an end":    {`func f() { for !done() { time.Sleep(d) } }`, []string{"sleep"}},
		"a sleep in a poll":        {`func f() { for end := time.Now().Add(patience); !done(); time.Sleep(d) { time.Sleep(d) } }`, []string{"sleep"}},
		"a bubble":                 {`func f() { synctest.Test(t, func(t *testing.T) { time.Sleep(d) }) }`, nil},
		"after a bubble":           {`func f() { synctest.Test(t, func(t *testing.T) {}); time.Sleep(d) }`, []string{"sleep"}},
		"a helper of a bubble":     {`func f() { time.Sleep(d) }; func TestF(t *testing.T) { synctest.Test(t, func(t *testing.T) { f() }) }`, nil},
		"a helper's helper":        {`func f() { g() }; func g() { time.Sleep(d) }; func TestF(t *testing.T) { synctest.Test(t, func(t *testing.T) { f() }) }`, nil},
		"a helper of others, too":  {`func f() { time.Sleep(d) }; func TestF(t *testing.T) { synctest.Test(t, func(t *testing.T) { f() }) }; func TestG(t *testing.T) { f() }`, []string{"sleep"}},
		"a duration":               {`func f() { if time.Since(began) > d { fail() } }`, []string{"duration"}},
		"a duration with a name":   {`func f() { took := time.Since(began); if took > d { fail() } }`, []string{"duration"}},
		"a duration that is shown": {`func f() { t.Log(time.Since(began)) }`, nil},
		"a short deadline":         {`func f() { context.WithTimeout(ctx, 5*time.Second); time.Now().Add(time.Second) }`, []string{"deadline", "deadline"}},
		"a long deadline":          {`func f() { context.WithTimeout(ctx, time.Minute); time.Now().Add(patience); time.Now().Add(30*time.Second) }`, nil},
		"measures in a list":       {`func f() { took = append(took, time.Since(began)); if len(took) > n { fail() } }`, nil},
		"a patient wait":           {`func f() { select { case <-done: case <-time.After(patience): fail() } }`, nil},
		"an impatient wait":        {`func f() { select { case <-done: case <-time.After(time.Second): fail() } }`, []string{"deadline"}},
		"a benchmark":              {`func BenchmarkF(b *testing.B) { time.Sleep(d) }`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, "a_test.go", "package p\n"+tt.source, 0)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, u := range (packageOf{"a_test.go": file}).uses(set)["a_test.go"] {
				got = append(got, u.kind)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
