// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

// longest is the length of a name, in octets, from which on Nearest finds no match: names
// by other programs may have any length.
const longest = 128

// Nearest returns the name of a list that an unknown name most likely means: the one that
// takes the fewest letters changed, swapped, added or left out, and at most a third of
// them, ignoring case and the kinds of dashes. It returns "" if all are too far.
func Nearest(name string, among []string) string {
	best, least := "", max(1, len(name)/3)+1
	if len(name) > longest {
		return ""
	}
	for _, candidate := range among {
		if d := distance(plain(name), plain(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// plain returns a name in lower case with one kind of dash.
func plain(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// distance is that of the optimal string alignment.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := range len(a) {
		for j := range len(b) {
			changed := rows[i][j]
			if a[i] != b[j] {
				changed++
			}
			d := min(changed, rows[i][j+1]+1, rows[i+1][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(a)][len(b)]
}
