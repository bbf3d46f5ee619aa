// SPDX-License-Identifier: Apache-2.0

// Package desired is the desired state: the rows of CONFIG_DB in force, as a snapshot, and the
// [Phase] that CONFIG_DB is in. It decides when to act on changes, so that objects stay on the
// switch while SONiC loads its tables.
package desired
