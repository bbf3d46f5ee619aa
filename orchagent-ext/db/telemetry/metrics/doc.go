// SPDX-License-Identifier: Apache-2.0

// Package metrics serves the rows of STATE_DB and COUNTERS_DB to Prometheus, over HTTP.
// The state model is the list of metrics: a table or leaf that the model gets is one. Two
// tables are named here: flows, of which the heaviest are exported, and the state, by
// which the health of sluiced is judged.
//
//	SLUICE_STATS:global label_written         sluice_label_written_total
//	SLUICE_PORT_STATS:Ethernet0 rx_packets    sluice_port_rx_packets_total{port="Ethernet0"}
//	SLUICE_STATE|global state                 sluice_state{state="running"}
//
// The type of a leaf decides its metric:
//
//   - a counter: a counter; those that are called dropped_… of one table are one,
//     with the label reason;
//   - another number, a boolean, a timestamp: a gauge, in base units (a name in
//     percent becomes a ratio, one in mbps bytes per second, a timestamp seconds
//     since 1970);
//   - an enumeration: a series of each value, 1 for the one in force and 0 for the
//     others;
//   - sentences: a series of each sentence, 1;
//   - a name in the table's only row: a label of sluice_info;
//   - a sentence, such as the last error: left out.
//
// All tables of COUNTERS_DB are exported, and those of STATE_DB that have one row.
// Of STATE_DB's lists only flows can be, and of these the heaviest: a series for
// each of many flows is more than a Prometheus should get unasked.
//
// sluiced runs the [Server]. It reads Redis on request, and at most once a second: so it
// also has the rows that other processes of Sluice write there. It only reads.
package metrics
