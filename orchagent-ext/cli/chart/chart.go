// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"unicode/utf8"
)

// A Group is one distribution.
type Group struct {
	// Title is above the bars.
	Title string
	Note  string // the result of the bars, such as "max ÷ mean 1.31"
	// Bars are drawn in their order.
	Bars []Bar
}

// A Bar is one member of a distribution.
type Bar struct {
	// Label is the name of the bar.
	Label string
	Value float64 // length of the bar; infinite, NaN or below 0 counts as 0
	Text  string  // the value as people read it, with its unit
}

// value returns the height, 0 for NaN, infinite and negative values.
func (b Bar) value() float64 {
	if !(b.Value > 0) || math.IsInf(b.Value, 0) {
		return 0
	}
	return b.Value
}

// worst returns the index of the longest bar, -1 when all are 0.
func (g Group) worst() int {
	worst, top := -1, 0.0
	for i, b := range g.Bars {
		if v := b.value(); v > top {
			worst, top = i, v
		}
	}
	return worst
}

// mean returns the mean of the bars, at most the longest of them: rounding could
// exceed it, and overflow.
func (g Group) mean() float64 {
	mean, top := 0.0, 0.0
	for _, b := range g.Bars {
		mean += b.value() / float64(len(g.Bars))
		top = max(top, b.value())
	}
	return min(mean, top)
}

// longest returns the longest bar of all groups.
func longest(groups []Group) float64 {
	top := 0.0
	for _, g := range groups {
		if i := g.worst(); i >= 0 {
			top = max(top, g.Bars[i].value())
		}
	}
	return top
}

// columns returns the width of the widest of the bars' texts.
func columns(groups []Group, text func(Bar) string) int {
	widest := 0
	for _, g := range groups {
		for _, b := range g.Bars {
			widest = max(widest, utf8.RuneCountInString(text(b)))
		}
	}
	return widest
}
