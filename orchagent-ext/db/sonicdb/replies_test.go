// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"fmt"
	"strings"
	"testing"
)

// TestLengthsAreBoundedBeforeTheyAreAllocated: each kind of reply of RESP2 and RESP3, in one
// piece and octet by octet. What is in bounds ends where it ends, so that the next reply
// begins with the whole bound.
func TestLengthsAreBoundedBeforeTheyAreAllocated(t *testing.T) {
	big := strings.Repeat("x", 40<<20)
	bulk := fmt.Sprintf("$%d\r\n%s\r\n", len(big), big)
	for name, tt := range map[string]struct {
		stream string
		bad    string // in the error; "": the stream is in bounds, and ends with a reply
	}{
		"status":                       {"+OK\r\n", ""},
		"error":                        {"-ERR long enough to fill the place of a line\r\n", ""},
		"number":                       {":-12345678901234567890123456789\r\n", ""},
		"string":                       {"$5\r\nhe\nlo\r\n", ""},
		"string of lengths":            {"$18\r\n$999999999999999\r\n\r\n", ""},
		"empty string":                 {"$0\r\n\r\n", ""},
		"null string":                  {"$-1\r\n", ""},
		"null array":                   {"*-1\r\n", ""},
		"empty array":                  {"*0\r\n", ""},
		"array":                        {"*3\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n+x\r\n", ""},
		"RESP3":                        {"%1\r\n+k\r\n~1\r\n#t\r\n", ""},
		"RESP3: attribute":             {"|1\r\n+ttl\r\n:3\r\n$2\r\nab\r\n", ""},
		"RESP3: push":                  {">2\r\n+message\r\n=7\r\ntxt:abc\r\n", ""},
		"replies of 120 MiB together":  {bulk + bulk + bulk, ""},
		"the issue's":                  {"$999999999999\r\n", "more than 64 MiB"},
		"string too long":              {"$67108865\r\n", "more than 64 MiB"},
		"length above 63 bits":         {"$99999999999999999999\r\n", "no number"},
		"length longer than its place": {"$00000000000000000000000000000005\r\nhello\r\n", "no number"},
		"negative length":              {"$-2\r\n", "no number"},
		"streamed":                     {"$?\r\n", "no number"},
		"text as length":               {"*x\r\n", "no number"},
		"empty line":                   {"\n", "no number"},
		"array too long":               {"*999999999\r\n", "more than 64 MiB"},
		"array that is just too long":  {fmt.Sprintf("*%d\r\n", maxReply/valueCost), "more than 64 MiB"},
		"map too long":                 {fmt.Sprintf("%%%d\r\n", maxReply/valueCost/2), "more than 64 MiB"},
		"length of the largest number": {"*9223372036854775807\r\n", "more than 64 MiB"},
		"verbatim":                     {"=999999999999\r\n", "more than 64 MiB"},
		"blob error":                   {"!999999999999\r\n", "more than 64 MiB"},
		"strings together":             {"*2\r\n" + bulk + bulk, "more than 64 MiB"},
		"later length of an array":     {"*2\r\n+x\r\n$999999999999\r\n", "more than 64 MiB"},
		"line without an end":          {"+" + strings.Repeat("x", maxReply+1), "more than 64 MiB"},
		"arrays in arrays":             {strings.Repeat("*1\r\n", 1<<20), "more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{len(tt.stream), 1} {
				if size == 1 && len(tt.stream) > 1000 {
					continue
				}
				var r replies
				var err error
				for rest := tt.stream; rest != "" && err == nil; rest = rest[min(size, len(rest)):] {
					err = r.take([]byte(rest[:min(size, len(rest))]))
				}
				switch {
				case tt.bad == "" && err != nil, tt.bad != "" && (err == nil || !strings.Contains(err.Error(), tt.bad)):
					t.Errorf("pieces of %d octets: %v, want %q", size, err, tt.bad)
				case tt.bad == "" && (r.values != 0 || r.skip != 0 || r.length != 0):
					t.Errorf("pieces of %d octets: the reply does not end: %+v", size, r)
				}
			}
		})
	}
}

// FuzzReplies: no stream makes the bound overflow or panic.
func FuzzReplies(f *testing.F) {
	for _, s := range []string{"*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n+k\r\n|1\r\n+a\r\n+b\r\n_\r\n", "$-1\r\n", "*9223372036854775807\r\n"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		var r, whole replies
		size = max(size, 1)
		var err error
		for rest := stream; len(rest) > 0 && err == nil; rest = rest[min(size, len(rest)):] {
			err = r.take(rest[:min(size, len(rest))])
		}
		if other := whole.take(stream); (other == nil) != (err == nil) || err == nil && r != whole {
			t.Errorf("pieces: %v %+v, whole: %v %+v", err, r, other, whole)
		}
		if r.values < 0 || r.skip < 0 || r.octets < 0 || err == nil && r.octets > maxReply {
			t.Errorf("%+v", r)
		}
	})
}
