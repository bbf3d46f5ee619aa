// SPDX-License-Identifier: Apache-2.0
#include "asic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"

/* Features that no ASIC has. */
#define EXTENSION "extension,compute,rewrite,flows,hold"

static struct {
	const struct profile *base;
	bool named;
	uint64_t rule_ms, entries, samples, counters_ms, queues_ms;
	char hide[256], entries_text[24], samples_text[24];
} asic;

static const struct limit {
	const char *key;
	uint64_t *value, max;
} limits[] = {
	{ "rule_ms", &asic.rule_ms, 1000 },	 { "entries", &asic.entries, 1 << 24 },
	{ "samples", &asic.samples, 100000000 }, { "counters_ms", &asic.counters_ms, 60000 },
	{ "queues_ms", &asic.queues_ms, 60000 },
};

static bool set(const char *file, const char *key, const char *value)
{
	char *end;

	if (strcmp(key, "hide") == 0) {
		size_t n = strlen(asic.hide);

		snprintf(asic.hide + n, sizeof(asic.hide) - n, ",%s", value);
		return true;
	}
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (strcmp(limits[i].key, key) != 0)
			continue;
		*limits[i].value = strtoull(value, &end, 10);
		if (end != value && !*end && *value != '-' && *limits[i].value >= 1 &&
		    *limits[i].value <= limits[i].max)
			return true;
		fail("%s: %s is \"%s\"; 1 to %llu is allowed", file, key, value, (unsigned long long)limits[i].max);
		return false;
	}
	fail("%s: \"%s\" is not known; rule_ms, entries, samples, counters_ms, queues_ms and hide are", file, key);
	return false;
}

static bool parse(const char *file, FILE *f)
{
	char line[256], *value;

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\r\n")] = 0;
		if (!*line || *line == '#')
			continue;
		value = strchr(line, '=');
		if (!value) {
			fail("%s: \"%s\" is no KEY=VALUE", file, line);
			return false;
		}
		*value++ = 0;
		if (!set(file, line, value))
			return false;
	}
	return true;
}

/* The profile's value, unless the ASIC has a limit. */
static const char *get(const char *key)
{
	if (strcmp(key, "SLUICE_HIDE") == 0)
		return asic.hide;
	if (strcmp(key, "SLUICE_ACL_ENTRIES") == 0 && asic.entries)
		return asic.entries_text;
	if (strcmp(key, "SLUICE_CPU_RATE") == 0 && asic.samples)
		return asic.samples_text;
	return asic.base->get(key);
}

bool asic_open(const struct profile *profile, struct profile *with)
{
	const char *file = profile->get("SLUICE_ASIC"), *hide = profile->get("SLUICE_HIDE");
	FILE *f;
	bool good;

	memset(&asic, 0, sizeof(asic));
	asic.base = profile;
	*with = *profile;
	if (!file || !*file)
		return true;
	f = fopen(file, "re");
	if (!f) {
		fail("SLUICE_ASIC: %s: %s", file, strerror(errno));
		return false;
	}
	snprintf(asic.hide, sizeof(asic.hide), EXTENSION "%s%s", hide ? "," : "", hide ? hide : "");
	good = parse(file, f);
	fclose(f);
	snprintf(asic.entries_text, sizeof(asic.entries_text), "%llu", (unsigned long long)asic.entries);
	snprintf(asic.samples_text, sizeof(asic.samples_text), "%llu", (unsigned long long)asic.samples);
	with->get = get;
	asic.named = true;
	return good;
}

bool asic_limits(void)
{
	return asic.named;
}

void asic_wait(void)
{
	struct timespec t = { .tv_sec = asic.rule_ms / 1000, .tv_nsec = asic.rule_ms % 1000 * 1000000 };

	while (asic.rule_ms && nanosleep(&t, &t) && errno == EINTR)
		;
}

uint64_t asic_counter_age(void)
{
	return asic.counters_ms * 1000000;
}

uint64_t asic_queue_age(void)
{
	return asic.queues_ms * 1000000;
}
