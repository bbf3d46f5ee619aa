// SPDX-License-Identifier: Apache-2.0

package etcd

import "testing"

// FuzzParsePublished: a publication that is read is written as it was read.
func FuzzParsePublished(f *testing.F) {
	f.Add(publishedText(7, "leaf1"))
	f.Add("ffffffffffffffff x")
	f.Fuzz(func(t *testing.T, text string) {
		number, about, err := parsePublished(text)
		if err != nil {
			return
		}
		if n, a, err := parsePublished(publishedText(number, about)); n != number || a != about || err != nil {
			t.Errorf("%d %q, and again %d %q, %v", number, about, n, a, err)
		}
	})
}
