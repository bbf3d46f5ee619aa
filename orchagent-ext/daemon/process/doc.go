// SPDX-License-Identifier: Apache-2.0

// Package process is one process of sluiced, from its options to its end: it locks the
// databases, enters the sandbox, opens the switch through a SAI library or through
// orchagent, watches the calls of the library, serves metrics, and runs the loop (package
// loop). Its other tasks are the dry run, the removal of all objects, and the far side of
// `sluice sai-check`.
//
// It parses no command line and decides nothing of the configuration.
package process
