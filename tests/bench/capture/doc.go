// SPDX-License-Identifier: Apache-2.0

// Package capture measures how sluice reads captures, beside softflowd and tshark on the same
// file in the same run.
package capture
