// SPDX-License-Identifier: Apache-2.0

// Package top turns the tables of a running Sluice into frames of text: [Parse] makes a
// [Snapshot] of rows, [Compare] makes a [View] of two of them, with the rates between
// them, and [View.Frame] draws it. Command top of the sluice tool calls it.
//
// It is pure: rows, time and size are given, so that recorded rows always give the same
// frame. Its only escape codes are colors, where the [Layout] asks for them. An unknown
// value is - in text and null in JSON, to distinguish it from 0.
package top
