// SPDX-License-Identifier: Apache-2.0

// Package orchagenttest is a little orchagent for tests: it takes rows of CONFIG_DB and
// APPL_DB by the schema of a SONiC release, as orchagent's code of that release does, and
// answers in STATE_DB. Tests of the driver and of the whole daemon call it; the
// daemons never do. It programs nothing.
package orchagenttest
