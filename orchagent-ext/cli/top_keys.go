// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"unicode/utf8"

	"sluice/orchagent-ext/cli/top"
)

// topKeys is the state of the view that keys change.
type topKeys struct {
	order        top.Order
	many         bool // switches are shown, in place of flows
	paused, help bool
	skip         int    // flows above the first one that is shown
	search       string // in flows; "": all are shown
	typing       bool   // a search
	sequence     string // of an arrow or page key, as far as it has come
}

// Keys that top reads, as octets of the terminal (ASCII control characters), and the
// bounds of a search text and of an escape sequence.
const (
	ctrlC     = 3
	ctrlU     = 21
	escape    = 27
	backspace = 127
	page      = 10 // flows

	longestSearch, longestSequence = 60, 8 // octets
)

// sequences are the keys that come as several octets (ECMA-48, xterm), and which key does
// the same.
var sequences = map[string]byte{
	"\x1b[A": 'k', "\x1b[B": 'j', "\x1bOA": 'k', "\x1bOB": 'j', "\x1b[5~": 'b', "\x1b[6~": ' ', "\x1b[H": 'g', "\x1b[1~": 'g', "\x1bOH": 'g',
}

// press takes an octet that was typed. quit means that it ends the command,
// changed that the view differs.
func (k *topKeys) press(key byte) (quit, changed bool) {
	if key == ctrlC {
		return true, false
	}
	if key == escape {
		k.sequence = "\x1b"
		return false, false
	}
	if begun := k.sequence; begun == "\x1b" && key != '[' && key != 'O' {
		k.sequence = "" // escape was pressed alone
	} else if begun != "" {
		k.sequence += string(rune(key))
		if begun == "\x1b" || key >= ' ' && key < '@' && len(begun) < longestSequence {
			return false, false // there is more to come
		}
		whole := sequences[k.sequence]
		k.sequence = ""
		return false, k.move(whole)
	}
	switch {
	case k.typing:
		return false, k.typed(key)
	case key == 'q':
		return true, false
	case k.help:
		k.help = false
	case k.many && (key == 's' || key == '/'):
		return false, false
	case key == 's':
		k.order, k.skip = k.order.Next(), 0
	case key == 'p':
		k.paused = !k.paused
	case key == '?':
		k.help = true
	case key == '/':
		k.typing = true
	default:
		return false, k.move(key)
	}
	return false, true
}

// move scrolls the flows.
func (k *topKeys) move(key byte) bool {
	by := map[byte]int{'j': 1, 'k': -1, ' ': page, 'b': -page, 'g': -k.skip}
	n, ok := by[key]
	k.skip = max(0, k.skip+n)
	return ok
}

// typed takes an octet of a search.
func (k *topKeys) typed(key byte) bool {
	switch {
	case key == '\r' || key == '\n':
		k.typing = false
	case key == ctrlU:
		k.search = ""
	case key == backspace || key == '\b':
		_, last := utf8.DecodeLastRuneInString(k.search)
		k.search = k.search[:len(k.search)-last]
	case key >= ' ' && len(k.search) < longestSearch:
		k.search += string([]byte{key})
	default:
		return false
	}
	k.skip = 0
	return true
}

// footer is the last line of a frame.
func (k *topKeys) footer() string {
	switch {
	case k.many:
		return top.FleetFooter(k.paused)
	case k.typing:
		return "/" + strings.ToValidUTF8(k.search, "") + "_  Enter keeps it, Ctrl-U empties it"
	case k.search != "":
		return "/" + strings.ToValidUTF8(k.search, "") + "  " + top.Footer(k.order, k.paused)
	}
	return top.Footer(k.order, k.paused)
}

// page is the page about keys and columns.
func (k *topKeys) page(l top.Layout) string {
	if k.many {
		return top.FleetHelp(l)
	}
	return top.Help(l)
}
