// SPDX-License-Identifier: Apache-2.0

// Package capture measures `sluice decode --flows` beside softflowd, on the same file in
// the same run.
package capture
