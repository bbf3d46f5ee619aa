// SPDX-License-Identifier: Apache-2.0

package network

// Hold and Advise come later.
type Hold struct{}
type Advise struct{}
type watch struct{}

func newWatch(*Net) *watch                     { return &watch{} }
func (w *watch) holds(*packet) bool            { return false }
func (w *watch) leaves(*Net, int32, *packet)   {}
func (w *watch) comes(*Net, int32, int32) bool { return false }
func (w *watch) added(int32)                   {}
func (w *watch) fire(*Net, timer)              {}
