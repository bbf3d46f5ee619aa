// SPDX-License-Identifier: Apache-2.0

// Package output writes the files that the commands of the sluice tool make: whole, or
// the old file stays.
package output
