// SPDX-License-Identifier: Apache-2.0

// Package output writes the files that the commands of the sluice tool make:
// whole or not at all. Their content is the caller's.
package output
