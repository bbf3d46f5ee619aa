// SPDX-License-Identifier: Apache-2.0

package top

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Number is a number that may be unknown, which is its zero value.
type Number struct {
	value float64
	known bool
}

// MarshalJSON writes a number, to a millionth, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.known {
		return []byte("null"), nil
	}
	return json.Marshal(math.Round(n.value*1e6) / 1e6)
}

// String is short enough for a column: three digits and a decimal prefix.
func (n Number) String() string {
	if !n.known {
		return "-"
	}
	v, prefix := n.value, ""
	for _, next := range []string{"k", "M", "G", "T", "P"} {
		if v < 999.5 {
			break
		}
		v, prefix = v/1000, next
	}
	switch {
	case v >= 99.95 || prefix == "" && v == float64(int64(v)):
		return fmt.Sprintf("%.0f%s", v, prefix)
	case v >= 9.995:
		return fmt.Sprintf("%.1f%s", v, prefix)
	default:
		return fmt.Sprintf("%.2f%s", v, prefix)
	}
}

// percent is a share, 0 to 1, as text.
func (n Number) percent() string {
	if !n.known {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*n.value)
}

// total is the value of a counter.
func total(c counters, name string) Number {
	v, ok := c[name]
	return Number{float64(v), ok}
}

// rate returns a counter's growth in units a second. It is unknown for a counter that is
// new, or that decreased, which means a reset.
func rate(before, now counters, name string, span time.Duration) Number {
	was, ok := before[name]
	is, still := now[name]
	if !ok || !still || is < was || span <= 0 {
		return Number{}
	}
	return Number{float64(is-was) / span.Seconds(), true}
}

// bits is a number of octets in bits.
func (n Number) bits() Number { return Number{8 * n.value, n.known} }

// plus returns the sum of the known ones of two numbers.
func (n Number) plus(other Number) Number {
	return Number{n.value + other.value, n.known || other.known}
}

// times returns a product, which is unknown where a factor is.
func (n Number) times(other Number) Number {
	return Number{n.value * other.value, n.known && other.known}
}

// over returns the share of a whole, 0 to 1; it is unknown where the whole is 0.
func (n Number) over(whole Number) Number {
	if !n.known || whole.value <= 0 {
		return Number{}
	}
	return Number{n.value / whole.value, true}
}

// ratio is a number near 1 as text.
func (n Number) ratio() string {
	if !n.known {
		return "-"
	}
	return fmt.Sprintf("%.2f", n.value)
}
