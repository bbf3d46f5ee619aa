// SPDX-License-Identifier: Apache-2.0

// Package units reads rates, sizes, times and counts as operators write them: 25G, 2.5Gbps,
// 100k, 64KiB, 5ms.
package units

import (
	"fmt"
	"maps"
	"math/big"
	"strconv"
	"strings"
)

// kind is a quantity: the units that may follow its numbers, and a text of examples.
type kind struct {
	name     string
	suffixes map[string]string // of units, by their value in the base unit
	examples string
}

const milli = "1/1000"

// Decimal and binary multiples.
var (
	decimal = map[string]string{"": "1", "k": "1000", "K": "1000", "M": "1000000", "m": "1000000", "G": "1000000000", "g": "1000000000", "T": "1000000000000"}
	binary  = map[string]string{"Ki": "1024", "Mi": "1048576", "Gi": "1073741824"}
)

// with returns multiples with each of the endings.
func with(multiples map[string]string, endings ...string) map[string]string {
	all := map[string]string{}
	for prefix, value := range multiples {
		for _, ending := range endings {
			if prefix+ending != "" {
				all[prefix+ending] = value
			}
		}
	}
	return all
}

// join merges tables of units; those of a later table count.
func join(some ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, one := range some {
		maps.Copy(all, one)
	}
	return all
}

// The kinds of quantities; the base units are bit/s, octets, seconds and one.
var (
	rate  = kind{"a rate", with(decimal, "", "bps", "bit", "bit/s"), "25G, 2.5Gbps, 500kbit"}
	size  = kind{"a size", join(with(decimal, "", "B"), with(binary, "", "B")), "100k, 1.5MB, 64KiB"}
	span  = kind{"a time", map[string]string{"ns": "1/1000000000", "us": "1/1000000", "µs": "1/1000000", "ms": milli, "s": "1", "min": "60", "h": "3600"}, "500us, 5ms, 2s"}
	count = kind{"a number", with(map[string]string{"": "1", "k": "1000", "K": "1000", "M": "1000000"}, "", "pps"), "20k, 1M"}
)

// units are those of the model, with the kind and their value in its base unit.
var units = map[string]struct {
	kind
	value string
}{
	"bit/s": {rate, "1"}, "kbit/s": {rate, "1000"}, "Mbit/s": {rate, "1000000"},
	"octets":       {size, "1"},
	"microseconds": {span, "1/1000000"}, "milliseconds": {span, milli}, "seconds": {span, "1"},
	"packets": {count, "1"}, "packets per second": {count, "1"},
}

// Known reports whether quantities of a unit of the model can be read.
func Known(unit string) bool {
	_, known := units[unit]
	return known
}

// Parse returns how many of a unit of the model a text is: 5ms is 5000 microseconds. A
// number alone is a count of the unit, in decimal or with 0x. The error names what is
// allowed: the text is no such quantity, or no whole number of the unit.
func Parse(text, unit string) (uint64, error) {
	u := units[unit]
	if n, err := strconv.ParseUint(text, 0, 64); err == nil && !strings.Contains(text, "_") {
		return n, nil
	}
	end := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(text)
	}
	suffix := strings.TrimPrefix(text[end:], " ")
	amount, ok := new(big.Rat).SetString(text[:end])
	value, known := u.suffixes[suffix]
	switch {
	case !ok || suffix != "" && !known:
		return 0, fmt.Errorf("%q is not %s, such as %s, or a number of %s", text, u.name, u.examples, unit)
	case suffix != "":
		amount.Mul(amount, rat(value))
		amount.Quo(amount, rat(u.value))
	}
	if !amount.IsInt() || !amount.Num().IsUint64() {
		return 0, fmt.Errorf("%q is not a whole number of %s", text, unit)
	}
	return amount.Num().Uint64(), nil
}

// rat returns the number that a constant of this package has as text.
func rat(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text) // a constant of this package
	return r
}
