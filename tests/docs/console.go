// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"slices"
	"strings"
)

// A command is one command of a console block, with its output on the page.
type command struct {
	text     string   // less the prompt
	line     int      // of the page, from 1
	output   []string // less line ends
	from, to int      // the lines of the page, from 0, that output is: [from, to)
}

// A block is a script of the page, or commands with their output.
type block struct {
	line     int // of the page, from 1, that its text begins with
	text     string
	commands []command // nil: a script
}

const (
	fence      = "```"
	prompt     = "$ "
	anyLines   = "…"
	infoRun    = "console"
	infoSwitch = "console switch"
	infoBox    = "sh box"
	infoShown  = "console box"
	infoDemo   = "console demo"
	infoNotRun = "sh norun"
	infoIPsec  = "sh ipsec " // and a name
)

var infos = []string{infoRun, infoSwitch, infoBox, infoShown, infoDemo, infoNotRun, infoIPsec}

// blocks are those of a page that are tested here.
type blocks struct {
	run    []command // of infoRun
	demo   []command // of infoDemo
	box    []block   // of infoBox and infoShown
	notRun []string  // lines of infoNotRun
}

// parse returns the blocks of a Markdown page. It refuses blocks that would silently go
// untested: those of shell of another kind, and those without an end.
func parse(page string) (found blocks, err error) {
	info, inside, opened := "", false, 0
	for i, line := range strings.Split(page, "\n") {
		switch {
		case !inside && strings.HasPrefix(strings.TrimSpace(line), fence):
			inside, opened = true, i+1
			info = strings.TrimPrefix(line, fence)
			words := strings.Fields(strings.Trim(line, " `"))
			isShell := len(words) > 0 && slices.Contains([]string{"console", "sh", "bash", "shell"}, words[0])
			isKnown := slices.Contains(infos, info) || strings.HasPrefix(info, infoIPsec)
			if isShell && !isKnown {
				return blocks{}, fmt.Errorf("line %d: block %q: a block of commands begins, not indented, with one of %q behind %s",
					i+1, line, infos, fence)
			}
			if info == infoBox || info == infoShown {
				found.box = append(found.box, block{line: i + 2})
			}
		case !inside:
		case strings.TrimSpace(line) == fence:
			inside = false
		case info == infoBox:
			found.box[len(found.box)-1].text += line + "\n"
		case info == infoNotRun:
			found.notRun = append(found.notRun, line)
		case info == infoRun:
			if found.run, err = add(found.run, line, i, opened); err != nil {
				return blocks{}, err
			}
		case info == infoDemo:
			if found.demo, err = add(found.demo, line, i, opened); err != nil {
				return blocks{}, err
			}
		case info == infoShown:
			last := &found.box[len(found.box)-1]
			last.text += line + "\n"
			if last.commands, err = add(last.commands, line, i, opened); err != nil {
				return blocks{}, err
			}
		}
	}
	if inside {
		return blocks{}, fmt.Errorf("line %d: the block does not end", opened)
	}
	return found, nil
}

// add adds a line of a console: a command, or output of the last one. i is the line's
// number, from 0, and opened that of the block, from 1.
func add(all []command, line string, i, opened int) ([]command, error) {
	if strings.HasPrefix(line, prompt) {
		return append(all, command{text: strings.TrimPrefix(line, prompt), line: i + 1, from: i + 1, to: i + 1}), nil
	}
	if len(all) == 0 || all[len(all)-1].line < opened {
		return nil, fmt.Errorf("line %d: %q precedes the first command of its block", i+1, line)
	}
	last := &all[len(all)-1]
	last.output = append(last.output, line)
	last.to = i + 1
	return all, nil
}

// matches reports whether the lines got are those of want, in which … matches
// any number of lines.
func matches(want, got []string) bool {
	for i, w := range want {
		if w == anyLines {
			for j := i; j <= len(got); j++ {
				if matches(want[i+1:], got[j:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || got[i] != w {
			return false
		}
	}
	return len(want) == len(got)
}

// replace returns the page with the outputs of its commands as given, one of each; run
// has the blocks of parse for the page.
func replace(page string, run []command, outputs [][]string) string {
	lines := strings.Split(page, "\n")
	var out []string
	next := 0
	for i, c := range run {
		out = append(append(out, lines[next:c.from]...), outputs[i]...)
		next = c.to
	}
	return strings.Join(append(out, lines[next:]...), "\n")
}
