// SPDX-License-Identifier: Apache-2.0

// Package orchagenttest is a small orchagent for tests of the driver and of the
// whole daemon: it takes rows of CONFIG_DB and APPL_DB by the schema of a SONiC
// release, as orchagent's code of that release does, and answers in STATE_DB. Its
// rows end there: it has no switch to program. [Syncd] polls counters of queues, as syncd does
// by rows of FLEX_COUNTER_DB.
package orchagenttest
