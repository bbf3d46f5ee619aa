// SPDX-License-Identifier: Apache-2.0
/*
 * BPF programs as filters on a netdev's clsact qdisc, at softsai's place there. All calls
 * return -errno where they fail.
 */
#ifndef SOFTSAI_FILTER_H
#define SOFTSAI_FILTER_H

#include <stdint.h>

#include <bpf/libbpf.h>

/* The place of softsai's filters: before those that get a preference from the kernel (49152 and less). */
#define FILTER_HANDLE 1
#define FILTER_PREFERENCE 0x51c

/* The program at softsai's place as a file descriptor, or -ENOENT where it has another name. */
int filter_find(uint32_t ifindex, enum bpf_tc_attach_point point, const char *program);

/* Opens a map that a program holds, by name; -ENOENT: it has none of this name. */
int filter_map(int program, const char *name);

/* Attaches a program in place of the one that is there, without a packet lost; the netdev needs a clsact qdisc. */
int filter_attach(uint32_t ifindex, enum bpf_tc_attach_point point, int program);

/* Detaches the program. */
int filter_detach(uint32_t ifindex, enum bpf_tc_attach_point point);

#endif
