// SPDX-License-Identifier: Apache-2.0
/*
 * Limits as ASICs have them, of a file that the profile names: SLUICE_ASIC=FILE. Each line is
 * KEY=VALUE; a line that begins with # is a comment.
 *
 *   rule_ms=15       time that a call takes which creates, sets or removes an ACL entry
 *   entries=2048     ACL entries
 *   samples=1000     packets to the CPU a second, of all ports
 *   counters_ms=50   how old the values of ACL counters may be
 *   queues_ms=10     the same of queue statistics
 *   hide=LIST        capabilities beside those of the extension, as SLUICE_HIDE has them
 *
 * A key that is missing sets no limit. The extension is hidden: labels, flows in queues, holds.
 */
#ifndef SOFTSAI_ASIC_H
#define SOFTSAI_ASIC_H

#include <stdbool.h>
#include <stdint.h>

#include "profile.h"

/*
 * Reads the file, if the profile names one, and makes *with the profile with its limits; else
 * *with is the profile. false: the log has the line that is wrong.
 */
bool asic_open(const struct profile *profile, struct profile *with);

/* Whether the profile names a file. */
bool asic_limits(void);

/* Waits as long as the ASIC takes for a rule. */
void asic_wait(void);

/* How old a counter's value may be, in ns; 0: it is read each time. */
uint64_t asic_counter_age(void);

/* The same of the statistics of a queue. */
uint64_t asic_queue_age(void);

#endif
