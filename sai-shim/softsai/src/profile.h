// SPDX-License-Identifier: Apache-2.0
/* The profile's key-values, as the caller's service table gives them. */
#ifndef SOFTSAI_PROFILE_H
#define SOFTSAI_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct profile {
	const char *(*get)(const char *key);
	/* The next key; begins again with restart. NULL: no more, or the caller has no list. May be NULL. */
	const char *(*next)(bool restart);
};

/* Whether a key has a value other than 0. */
bool profile_is_set(const struct profile *p, const char *key);

/* A number from min to max, or fallback where the key has none; false: the log has the fault. */
bool profile_number(const struct profile *p, const char *key, uint64_t min, uint64_t max, uint64_t fallback,
		    uint64_t *value);

/*
 * Checks a list "NUMBER,NAME=NUMBER,…": the number of all ports, and of those that have
 * another; numbers from 1 to max. Either may be missing.
 */
bool profile_check_ports(const struct profile *p, const char *key, uint64_t max);

/* The number of a port in such a list, or fallback. */
uint64_t profile_of_port(const struct profile *p, const char *key, const char *port, uint64_t fallback);

/* Warns of keys that begin with SLUICE_ and that the library does not know, each with a guess. */
void profile_warn_unknown(const struct profile *p);

#endif
