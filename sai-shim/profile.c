/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A value that was changed. */
struct former {
	struct former *next;
	char *value;
};

struct profile {
	char **pairs; /* keys and values in turn */
	int npairs;
	struct former *former;
	/* Of profile_get_next_value. */
	int next;
	bool continues; /* the last call gave a pair to a caller that passes NULL each time */
};

/* Held while the profile that is served is read or changed, or another takes its place. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct profile *served;

struct profile *profile_new(const char *const *keys, const char *const *values, int n)
{
	struct profile *p = calloc(1, sizeof(*p));

	bool whole;

	if (!p)
		return NULL;
	p->pairs = calloc(2 * (size_t)n + 1, sizeof(*p->pairs));
	whole = p->pairs;
	for (int i = 0; whole && i < n; i++) {
		p->pairs[2 * i] = strdup(keys[i]);
		p->pairs[2 * i + 1] = strdup(values[i]);
		p->npairs++;
		whole = p->pairs[2 * i] && p->pairs[2 * i + 1];
	}
	if (whole)
		return p;
	profile_free(p);
	return NULL;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (int i = 0; p->pairs && i < 2 * p->npairs; i++)
		free(p->pairs[i]);
	free(p->pairs);
	for (struct former *f = p->former, *next; f; f = next) {
		next = f->next;
		free(f->value);
		free(f);
	}
	free(p);
}

void profile_serve(struct profile *p)
{
	pthread_mutex_lock(&lock);
	served = p;
	pthread_mutex_unlock(&lock);
}

/* The place of a key's value; NULL: the profile lacks the key. */
static char **value_of(struct profile *p, const char *key)
{
	for (int i = 0; i < p->npairs; i++)
		if (strcmp(p->pairs[2 * i], key) == 0)
			return &p->pairs[2 * i + 1];
	return NULL;
}

/* Takes a text out of the former values, or copies it; NULL: out of memory. */
static char *take_value(struct profile *p, const char *text)
{
	for (struct former **f = &p->former; *f; f = &(*f)->next) {
		struct former *is = *f;
		char *value = is->value;

		if (strcmp(value, text) != 0)
			continue;
		*f = is->next;
		free(is);
		return value;
	}
	return strdup(text);
}

sai_status_t profile_set(struct profile *p, const char *key, const char *value)
{
	struct former *former = malloc(sizeof(*former));
	sai_status_t status = SAI_STATUS_NO_MEMORY;
	char **place, *now;

	if (!former)
		return status;
	pthread_mutex_lock(&lock);
	place = value_of(p, key);
	now = place ? take_value(p, value) : NULL;
	if (now) {
		*former = (struct former){ p->former, *place };
		p->former = former;
		former = NULL;
		*place = now;
		status = SAI_STATUS_SUCCESS;
	} else if (!place) {
		status = SAI_STATUS_ITEM_NOT_FOUND;
	}
	pthread_mutex_unlock(&lock);
	free(former);
	return status;
}

static const char *get_value(sai_switch_profile_id_t profile, const char *variable)
{
	char **place = NULL, *value = NULL;

	(void)profile;
	pthread_mutex_lock(&lock);
	if (served && variable)
		place = value_of(served, variable);
	if (place)
		value = *place;
	pthread_mutex_unlock(&lock);
	return value;
}

/*
 * By SAI *variable NULL begins again. In SONiC's syncd value NULL does, without a pair, and
 * libraries made for it pass NULL in each call: they get the next pair until the last one.
 */
static int next_pair(struct profile *p, const char **variable, const char **value)
{
	if (!value || (variable && !*variable && !p->continues))
		p->next = 0;
	p->continues = value && variable && !*variable && p->next < p->npairs;
	if (!value)
		return 0;
	if (!variable || p->next >= p->npairs)
		return -1;
	*variable = p->pairs[2 * p->next];
	*value = p->pairs[2 * p->next + 1];
	p->next++;
	return 0;
}

static int get_next_value(sai_switch_profile_id_t profile, const char **variable, const char **value)
{
	int result = -1;

	(void)profile;
	pthread_mutex_lock(&lock);
	if (served)
		result = next_pair(served, variable, value);
	pthread_mutex_unlock(&lock);
	return result;
}

const sai_service_method_table_t profile_services = { get_value, get_next_value };
