// SPDX-License-Identifier: Apache-2.0
#include "multipath.h"

#include <errno.h>
#include <string.h>

#include "index.h"
#include "log.h"
#include "net.h"
#include "object.h"

#define POLICY_FIELDS 3

/* The settings of the kernel, in the order in which they are kept. */
static const char *const sysctls[] = {
	"ipv4/fib_multipath_hash_policy",
	"ipv4/fib_multipath_hash_fields",
	"ipv6/fib_multipath_hash_policy",
	"ipv6/fib_multipath_hash_fields",
};
#define SYSCTLS (sizeof(sysctls) / sizeof(sysctls[0]))
#define SEED "ipv4/fib_multipath_hash_seed"

/*
 * Kept values: the sysctls above before this switch changed them, or -1 for one that it
 * left alone; then whether it changed the seed (1 or -1), and the seed, any 32 bits.
 * Earlier versions kept no seed.
 */
#define SEED_CHANGED SYSCTLS
#define SEED_BEFORE (SYSCTLS + 1)
#define KEPT (SYSCTLS + 2)

static long wanted[SYSCTLS]; /* values that the switch has set; 0: none */

static void kept(int32_t values[KEPT])
{
	const sai_attribute_value_t *v = object_value(object_switch(), ATTR_SYSCTLS);
	uint32_t count = v ? v->s32list.count : 0;

	for (size_t i = 0; i < KEPT; i++)
		values[i] = (count == KEPT || count == SYSCTLS) && i < count ? v->s32list.list[i] : -1;
}

static sai_status_t keep(int32_t values[KEPT])
{
	sai_attribute_t attr = { .id = ATTR_SYSCTLS, .value.s32list = { .count = KEPT, .list = values } };
	sai_status_t status = object_store(object_switch(), &attr);

	return status ? status : object_save(object_switch());
}

long multipath_kernel_fields(void)
{
	/* By policy: addresses, protocol and label; 5-tuple; the same of the inner header; fields. */
	static const long by_policy[] = { 0x000f, 0x0037, 0x0037 };
	int32_t before[KEPT];
	long policy, bits;

	kept(before);
	if (net_sysctl_get(sysctls[2], &policy) || net_sysctl_get(sysctls[3], &bits))
		return -1;
	if (before[2] >= 0)
		policy = before[2];
	if (before[3] >= 0)
		bits = before[3];
	return policy >= 0 && policy < POLICY_FIELDS ? by_policy[policy] : bits;
}

/* Sets a sysctl, or with value -1 restores the former one. */
static sai_status_t bring(size_t i, long value, int32_t before[KEPT])
{
	sai_status_t status = SAI_STATUS_SUCCESS;
	long now;
	int err;

	wanted[i] = value > 0 ? value : 0;
	if (value < 0 && before[i] < 0)
		return SAI_STATUS_SUCCESS;
	err = net_sysctl_get(sysctls[i], &now);
	if (!err && value >= 0 && before[i] < 0) {
		before[i] = now; /* kept before it is changed */
		status = keep(before);
	}
	if (!err && !status)
		err = net_sysctl_set(sysctls[i], value >= 0 ? value : before[i]);
	if (err) {
		fail("/proc/sys/net/%s: %s", sysctls[i], strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	if (!status && value < 0) {
		before[i] = -1;
		status = keep(before);
	}
	return status;
}

sai_status_t multipath_set(int family, uint32_t fields)
{
	size_t policy = family * 2, bits = policy + 1;
	int32_t before[KEPT];
	sai_status_t status;

	kept(before);
	status = bring(bits, fields ? (long)fields : -1, before);
	return status ? status : bring(policy, fields ? POLICY_FIELDS : -1, before);
}

sai_status_t multipath_seed(uint32_t *seed)
{
	long now;
	int err = net_sysctl_get(SEED, &now);

	if (!err)
		*seed = now;
	else
		fail("/proc/sys/net/" SEED ": %s", strerror(-err));
	return !err ? SAI_STATUS_SUCCESS : err == -ENOENT ? SAI_STATUS_NOT_SUPPORTED : SAI_STATUS_FAILURE;
}

sai_status_t multipath_set_seed(uint32_t seed)
{
	int32_t before[KEPT];
	uint32_t now;
	sai_status_t status;
	int err;

	kept(before);
	if (!seed && before[SEED_CHANGED] < 0)
		return SAI_STATUS_SUCCESS;
	status = multipath_seed(&now);
	if (!status && seed && before[SEED_CHANGED] < 0) {
		before[SEED_CHANGED] = 1; /* kept before it is changed */
		before[SEED_BEFORE] = now;
		status = keep(before);
	}
	if (status)
		return status;
	err = net_sysctl_set(SEED, seed ? seed : (uint32_t)before[SEED_BEFORE]);
	if (err) {
		fail("/proc/sys/net/" SEED ": %s", strerror(-err));
		return SAI_STATUS_FAILURE;
	}
	if (!seed) {
		before[SEED_CHANGED] = -1;
		status = keep(before);
	}
	return status;
}

/* Checks one setting; mend: sets it where it differs. */
static int check(struct drift_list *l, const char *name, long want, bool mend)
{
	char place[64] = "net/";
	long now;
	int err;

	if (!want)
		return 0;
	err = net_sysctl_get(name, &now);
	if (err || now == want)
		return err;
	strncat(place, name, sizeof(place) - strlen(place) - 1);
	for (char *c = place; *c; c++)
		if (*c == '/')
			*c = '.';
	if (l)
		drift_add(l, "hash", place, true, "it is %ld instead of %ld", now, want);
	return mend ? net_sysctl_set(name, want) : 0;
}

static int check_all(struct drift_list *l, bool mend)
{
	int err = 0; /* the seed is left to its owner, who reads it: placement by labels follows it */

	for (size_t i = 0; i < SYSCTLS && !err; i++)
		err = check(l, sysctls[i], wanted[i], mend);
	return err;
}

int multipath_audit(struct drift_list *l)
{
	return check_all(l, false);
}

int multipath_mend(void)
{
	return check_all(NULL, true);
}

bool multipath_managed(void)
{
	int32_t before[KEPT];

	kept(before);
	for (size_t i = 0; i <= SEED_CHANGED; i++)
		if (before[i] >= 0)
			return true;
	return false;
}

sai_status_t multipath_reset(void)
{
	sai_status_t status = multipath_set(0, 0);

	if (!status)
		status = multipath_set(1, 0);
	return status ? status : multipath_set_seed(0);
}
