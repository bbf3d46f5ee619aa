// SPDX-License-Identifier: Apache-2.0

// Package terminal shows frames of text on a terminal: it takes the terminal over
// and gives it back as it was. Command top of the sluice tool calls it. It knows
// nothing of what the frames say.
package terminal
