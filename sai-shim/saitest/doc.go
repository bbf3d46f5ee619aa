// SPDX-License-Identifier: Apache-2.0

// Package saitest builds a SAI library for tests, whose ASIC is a list of objects. It
// records each call that goes well, and the profile directs its answers. Tests of package
// sai, of the SAI driver and of sluiced load it.
//
// A line of the record is a call, an object and its attributes without SAI's
// prefix:
//
//	create acl_counter#1 TABLE_ID=acl_table#1 ENABLE_PACKET_COUNT=true ENABLE_BYTE_COUNT=true
//	set port#2 INGRESS_ACL=acl_table#1
//	get port#2 SPEED
//	stats port#2
//	remove acl_counter#1
//	hold port#2 LABEL 2001:db8::1>2001:db8::2 0x5 us=40000 rate=0
//
// Matches have the mask after an "&"; an unknown attribute is its number and the first
// two 64-bit words of the value. Where a call refers to an object that is missing, it is
// refused.
//
// Keys of the profile:
//
//	RECORD       file that the calls are appended to; must be there
//	PORTS        lanes of the ports, with a comma within a port and a blank between two: "0,1,2,3 4"
//	FAIL         calls to refuse, with ";" between: CALL OBJECT AFTER STATUS [TIMES], such as
//	             "create acl_entry 3 -13": all but the first three; also "initialize api", "query policer".
//	             A STATUS hang never returns, abort and exit end the process; more and endless are BUFFER_OVERFLOW
//	             of a list with a count of one more than there was room for, or of 2^31-1; null is SUCCESS
//	             with no object's id.
//	             OBJECT.ATTRIBUTE: calls with this attribute, such as "get port.INGRESS_ACL 0 -15", or
//	             "capability switch.ECMP_HASH_IPV6_RDMA 0 -1"; "values hash.NATIVE_HASH_FIELD_LIST", "list acl_table"
//	HIDE         unsupported attributes, by their full names, with blanks between
//	DROP         attributes that it takes and drops
//	ROUTER       it has the ACL action REDIRECT
//	GROUPED      its ports take groups of ACL tables alone
//	MISSING      status of calls of an object that is missing; default -7, ITEM_NOT_FOUND
//	UNSET        status of reading an attribute that is still unset; left out: it is read as 0
//	DEFAULT_HASH the id that ECMP_HASH of the switch has before it is set; no object has it
//	OWNER        a file: the objects outlive the process, and are those of all processes that name it, as of a
//	             library that another process serves
//	ITERATOR     it reads the whole profile, with *variable NULL before each call, and fails where that is endless
//	COUNTLESS    sai_get_object_key leaves the count as it is given
//	CAN          numbers of attributes that it supports though they are unknown to it: 0x10000055
//	HASH_FIELDS  native hash fields that it supports, by number; default: those that Sluice uses
//	VERSION      its version of SAI as sai_query_api_version tells it; default 11800
//	PACKETS      "COUNT SIZE": packets that it gives to the CPU whenever an ACL is bound to a port, from that
//	             port, marked with the last user-defined trap. Each is its number (4 octets, network byte
//	             order, across all) and octets that count up from there
//	EXTENSION    version of Sluice's extension that it has; default 2; 0: it leaves the handshake unanswered
//	             EXTENSION=0x1000003 is version 3 with audits
//	AUDIT        how many pieces an audit has; piece n, from 0, finds 10 n parts
//	EVENTS       how many flow events it raises whenever FLOW_MONITOR_HIGH of a queue is set: event n is of
//	             flow n+1, and its members count up from n
//
//	QUEUES       egress queues of a port, at most 32; default 8
//	QOS          maps of the first port: pairs of DSCP and class, and behind a ";" of class and queue: "26=3 48=6;3=5"
//	STATS_DELAY  microseconds that a call for statistics takes, of one object or of many
//	BULK         it has statistics of many objects in one call, "bulk port#1" with the first; silent: the
//	             call answers SUCCESS and writes nothing; by default it answers NOT_IMPLEMENTED
//
// Statistic or counter n of object number k is 1000k+n. A
// queue, number k, flows 1 to 100: flow n has 1000k+n octets in it.
//
// A file of personalities/ is the profile of one library that was tried, see [Library.Personality].
package saitest
