// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	inline    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	reference = regexp.MustCompile(`(?m)^\[[^\]]+\]: (\S+)$`)
	fenced    = regexp.MustCompile("(?ms)^```.*?^```$")
	inCode    = regexp.MustCompile("`[^`\n]+`")
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestLinksLeadSomewhere: the file of a link exists, and so does the heading.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	count := 0
	for name, p := range all {
		for _, target := range linksOf(p.text) {
			count++
			if problem := follow(all, name, target); problem != "" {
				t.Errorf("%s: link to %s: %s", name, target, problem)
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d links were found", count)
	}
}

func linksOf(text string) []string {
	text = inCode.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	var targets []string
	for _, m := range append(inline.FindAllStringSubmatch(text, -1), reference.FindAllStringSubmatch(text, -1)...) {
		targets = append(targets, m[1])
	}
	return targets
}

// follow says what is wrong with a link on a page; empty: nothing.
func follow(all map[string]*page, name, target string) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme == "https":
		return "" // nothing is asked of the network
	case u.Scheme != "" || u.Host != "":
		return "want a relative path, or https"
	}
	to := name
	if u.Path != "" {
		to = filepath.Join(filepath.Dir(name), u.Path)
		if _, err := os.Stat(filepath.Join(root, to)); err != nil {
			return err.Error()
		}
	}
	if u.Fragment == "" {
		return ""
	}
	p := all[to]
	if p == nil {
		return to + " is no page, and has no headings"
	}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(p.text, ""), -1) {
		if anchor(h[1]) == u.Fragment {
			return ""
		}
	}
	return to + " has no such heading"
}

// anchor is the name that GitHub gives a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

func TestFollowFindsWhatIsBroken(t *testing.T) {
	all := map[string]*page{"docs/security.md": {text: "# Security\n\n## Who may send what: `sluice`, a_b?\n\n```sh box\n# no heading\n```\n"}}
	for target, problem := range map[string]string{
		"#security":                      "",
		"#who-may-send-what-sluice-a_b":  "",
		"security.md#security":           "",
		"../docs/security.md":            "",
		"https://github.com":             "",
		"http://github.com":              "want a relative path",
		"#no-heading":                    "has no such heading",
		"nothing.md":                     "no such file",
		"security.md#nothing":            "has no such heading",
		"../Makefile#nothing":            "is no page",
		"//example.com/docs/security.md": "want a relative path",
	} {
		if got := follow(all, "docs/security.md", target); (got == "") != (problem == "") || !strings.Contains(got, problem) {
			t.Errorf("%s: %q, want %q", target, got, problem)
		}
	}
	text := "[a](one.md) and [b\nc](two.md#x).\n```\n[no](three.md)\n```\n`[no](four.md)`\n[d]: https://five\n"
	if got := strings.Join(linksOf(text), " "); got != "one.md two.md#x https://five" {
		t.Errorf("links %q", got)
	}
}

// TestPagesFitTheirLimits: the front page fits on a screen, and no page is a book.
func TestPagesFitTheirLimits(t *testing.T) {
	all := pages(t)
	for name, p := range all {
		limit := 12288 // octets
		switch {
		case name == "README.md":
			limit = 6144
		case strings.HasPrefix(name, "docs/conformance/"), !strings.HasPrefix(name, "docs/"):
			continue
		}
		if len(p.text) > limit {
			t.Errorf("%s has %d octets, more than %d", name, len(p.text), limit)
		}
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"} {
		if all[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}

// TestEveryPageIsFound: each page under docs/ is linked from the front page, or
// from a page that is.
func TestEveryPageIsFound(t *testing.T) {
	all := pages(t)
	found := map[string]bool{"README.md": true}
	for next := []string{"README.md"}; len(next) > 0; next = next[1:] {
		for _, target := range linksOf(all[next[0]].text) {
			path, _, _ := strings.Cut(target, "#")
			to := filepath.Join(filepath.Dir(next[0]), path)
			if path != "" && all[to] == nil {
				to = filepath.Join(to, "README.md") // a folder
			}
			if path != "" && all[to] != nil && !found[to] {
				found[to] = true
				next = append(next, to)
			}
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !found[name] {
			t.Errorf("no page leads to %s", name)
		}
	}
}
