// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"
)

// written are the files that commands of pages write: gen's first word, and the values of
// flags that name one.
var written = []*regexp.Regexp{
	regexp.MustCompile(`\bgen ([^\s|-][^\s|]*)`),
	regexp.MustCompile(`\bcapture (?:lift6|relabel) \S+ ([^\s|]+)`),
	regexp.MustCompile(` (?:--svg|--html|--write|-w|--file|--out|--record) ([^\s|-][^\s|]*)`),
	regexp.MustCompile(`> ?([^\s|&>]+)$`),
}

// TestNoTwoPagesWriteTheSameFile: who follows one page after another in one folder meets no
// file that exists. Within a page, no command writes the file of another one.
func TestNoTwoPagesWriteTheSameFile(t *testing.T) {
	by := map[string]string{}
	found := 0
	for name, p := range pages(t) {
		for _, c := range p.run {
			for _, file := range filesOf(c.text) {
				found++
				if other, taken := by[file]; taken {
					t.Errorf("%s:%d: %q writes %s, which %s does, too", name, c.line, c.text, file, other)
				}
				by[file] = name
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d files were found", found)
	}
}

// filesOf returns the names of the files that a command writes, less those below /tmp.
func filesOf(command string) (names []string) {
	for _, form := range written {
		for _, m := range form.FindAllStringSubmatch(command, -1) {
			if !strings.HasPrefix(m[1], "/") && !strings.Contains(command, "--force") {
				names = append(names, m[1])
			}
		}
	}
	return names
}
