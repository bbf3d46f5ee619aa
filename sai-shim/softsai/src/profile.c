// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

#define LONGEST 64 /* of a key that is guessed */

/* Every key that the library knows, and those that are for Sluice's shim. */
static const char *const keys[] = {
	"SLUICE_PORTS",
	"SLUICE_ASIC",
	"SLUICE_HIDE",
	"SLUICE_QUEUES",
	"SLUICE_QUEUE_RATE",
	"SLUICE_QUEUE_BYTES",
	"SLUICE_COLD",
	"SLUICE_ACL_ENTRIES",
	"SLUICE_CPU_RATE",
	"SLUICE_CPU_BURST",
	"SLUICE_HOLDS",
	"SLUICE_HOLD_BYTES",
	"SLUICE_HOLD_FROZEN_MS",
	"SLUICE_LANES", /* former names of these two */
	"SLUICE_LANE_BYTES",
	"SLUICE_REALTIME",
	"SLUICE_EXT_SET_IPV6_FLOW_LABEL",
	"SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL",
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

bool profile_is_set(const struct profile *p, const char *key)
{
	const char *v = p->get(key);

	return v && *v && strcmp(v, "0") != 0;
}

bool profile_number(const struct profile *p, const char *key, uint64_t min, uint64_t max, uint64_t fallback,
		    uint64_t *value)
{
	const char *text = p->get(key);
	char *end;

	*value = fallback;
	if (!text || !*text)
		return true;
	*value = strtoull(text, &end, 10);
	if (!*end && *text != '-' && *value >= min && *value <= max)
		return true;
	fail("%s is \"%s\"; %llu to %llu is allowed", key, text, (unsigned long long)min, (unsigned long long)max);
	return false;
}

/* The next element of a list: its name (NULL: all ports), and its number's text. Returns the rest of the list, or NULL. */
static const char *element(const char *at, const char **name, size_t *length, const char **number)
{
	const char *end = at + strcspn(at, ","), *equals = memchr(at, '=', end - at);

	*name = equals ? at : NULL;
	*length = equals ? (size_t)(equals - at) : 0;
	*number = equals ? equals + 1 : at;
	return *end ? end + 1 : NULL;
}

bool profile_check_ports(const struct profile *p, const char *key, uint64_t max)
{
	const char *text = p->get(key), *name, *number;
	size_t length;

	for (const char *at = text && *text ? text : NULL; at;) {
		unsigned long long value;
		char *end;

		at = element(at, &name, &length, &number);
		value = strtoull(number, &end, 10);
		if (end != number && *number != '-' && (!*end || *end == ',') && value >= 1 && value <= max &&
		    (!name || length))
			continue;
		fail("%s is \"%s\"; a number from 1 to %llu and exceptions are allowed: NUMBER,PORT=NUMBER,…", key,
		     text, (unsigned long long)max);
		return false;
	}
	return true;
}

uint64_t profile_of_port(const struct profile *p, const char *key, const char *port, uint64_t fallback)
{
	const char *text = p->get(key), *name, *number;
	uint64_t value = fallback;
	size_t length;

	for (const char *at = text && *text ? text : NULL; at;) {
		at = element(at, &name, &length, &number);
		if (!name)
			value = strtoull(number, NULL, 10);
		else if (strlen(port) == length && strncmp(name, port, length) == 0)
			return strtoull(number, NULL, 10);
	}
	return value;
}

/* Changes of an octet that make one word of the other (Levenshtein). */
static size_t distance(const char *a, const char *b)
{
	size_t row[LONGEST + 1], n = strlen(b), diagonal, above;

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		diagonal = row[0];
		row[0] = i + 1;
		for (size_t j = 1; j <= n; j++) {
			size_t best = diagonal + (a[i] != b[j - 1]);

			above = row[j];
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[n];
}

static void check_key(const char *key)
{
	size_t best = LONGEST, guess = 0;

	if (strncmp(key, "SLUICE_", 7) != 0)
		return;
	for (size_t i = 0; i < KEYS; i++) {
		size_t d = strcmp(key, keys[i]) == 0 ? 0 : strlen(key) > LONGEST ? LONGEST : distance(key, keys[i]);

		if (d == 0)
			return;
		if (d < best) {
			best = d;
			guess = i;
		}
	}
	if (best <= strlen(key) / 4)
		warn("profile key %s is not known and has no effect; is %s meant?", key, keys[guess]);
	else
		warn("profile key %s is not known and has no effect", key);
}

void profile_warn_unknown(const struct profile *p)
{
	for (const char *key = p->next ? p->next(true) : NULL; key; key = p->next(false))
		check_key(key);
}
