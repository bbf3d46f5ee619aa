// SPDX-License-Identifier: Apache-2.0

// Package top turns what a running Sluice says of itself in its tables into
// frames of text: [Parse] makes a [Snapshot] of rows, [Compare] makes a [View] of
// two of them, with the rates between them, and [View.Frame] draws it. Command
// top of the sluice tool calls it.
//
// It is pure: it reads no database, no clock and no terminal, so that recorded
// rows give the same frame for ever. It writes no escape code but colors, and
// these only where the [Layout] asks for them. What is not known is shown as -,
// and is null in JSON, never 0.
package top
