// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"os"
	"strings"
)

// A call is one of orchagent to SAI, as sairedis.rec has it: TIME|OPERATION|OBJECT|ATTRIBUTE=VALUE|….
// Operations are c (create), r (remove), s (set) and their bulk forms C, R, S; a is the switch of views.
type call struct {
	operation string
	object    string // SAI_OBJECT_TYPE_X:oid:0x…, or the view's name
	kind      string // SAI_OBJECT_TYPE_X
	fields    map[string]string
}

// parseCall reads the calls of a line of the recording. Other lines, such as answers, have none.
func parseCall(line string) (all []call) {
	parts := strings.Split(line, "|")
	if len(parts) < 3 {
		return nil
	}
	switch op := parts[1]; op {
	case "c", "r", "s":
		kind, _, _ := strings.Cut(parts[2], ":")
		return []call{{op, parts[2], kind, attributes(parts[3:])}}
	case "a":
		return []call{{operation: op, object: parts[2]}}
	case "C", "R", "S": // TIME|C|KIND||KEY|ATTRIBUTES||KEY|ATTRIBUTES
		_, rest, _ := strings.Cut(line, "||")
		for one := range strings.SplitSeq(rest, "||") {
			fields := strings.Split(one, "|")
			all = append(all, call{strings.ToLower(op), parts[2] + ":" + fields[0], parts[2], attributes(fields[1:])})
		}
	}
	return all
}

func attributes(pairs []string) map[string]string {
	fields := map[string]string{}
	for _, p := range pairs {
		if name, value, ok := strings.Cut(p, "="); ok {
			fields[name] = value
		}
	}
	return fields
}

// calls reads the recording from an offset on, and returns the one of its end.
func calls(file string, from int64) (all []call, end int64, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, from, err
	}
	if from > int64(len(data)) {
		from = 0 // it was begun again
	}
	lines := bufio.NewScanner(bytes.NewReader(data[from:]))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		all = append(all, parseCall(lines.Text())...)
	}
	return all, int64(len(data)), lines.Err()
}

// applyView is in the name of the call after which syncd has all objects that orchagent made since its start.
const applyView = "APPLY_VIEW"

// rewritten counts rules that the first start of a view had, and that were created again after it:
// the match and the target of both are the same.
func rewritten(after []call) (n int) {
	view := map[string]bool{}
	applied := false
	for _, c := range after {
		switch {
		case c.operation == "a" && strings.Contains(c.object, applyView):
			applied = true
		case c.operation == "c" && c.kind == kindEntry:
			sign := signature(c.fields)
			if !applied {
				view[sign] = true
			} else if view[sign] {
				n++
			}
		}
	}
	return n
}
