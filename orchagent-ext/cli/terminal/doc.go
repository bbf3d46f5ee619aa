// SPDX-License-Identifier: Apache-2.0

// Package terminal shows frames of text on a terminal: it takes the terminal over and
// restores its state at the end. The text of a frame is the caller's.
package terminal
