// SPDX-License-Identifier: Apache-2.0

// Package sonicdb reads, watches and writes SONiC's databases, and is the only
// one that connects to Redis.
//
//   - [Load] finds the databases by SONiC's database_config.json;
//   - [DB.Watch] keeps a view of some tables in step with Redis, whatever happens
//     to the connection or to Redis;
//   - [DB.Read], [DB.ReadKeys] and [DB.Write] are for once, and [DB.Swap] writes rows all or none;
//   - [DB.Produce] and [DB.Enqueue] hand rows to the process of SONiC that consumes their table;
//   - a [Mirror] keeps Sluice's tables in Redis as the caller sets them.
//
// sluiced watches CONFIG_DB and mirrors into STATE_DB and COUNTERS_DB; of ASIC_DB it
// reads next-hop groups. sluice-gnmi watches the first three and writes CONFIG_DB. The
// package works on tables, keys and fields, whatever their meaning. It leaves the
// settings of Redis as they are and, but for [DB.Take] and [DB.Dequeue] in tests, the tables by which
// SONiC's own processes feed each other.
//
// Rows come and go as [rows.Row]. The NULL of a row without fields stays inside.
package sonicdb
