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

/* What the sysctls were before this switch changed them, or -1 for one that it left alone. */
static void kept(int32_t values[SYSCTLS])
{
	const sai_attribute_value_t *v = object_value(object_switch(), ATTR_SYSCTLS);

	for (size_t i = 0; i < SYSCTLS; i++)
		values[i] = v && v->s32list.count == SYSCTLS ? v->s32list.list[i] : -1;
}

static sai_status_t keep(int32_t values[SYSCTLS])
{
	sai_attribute_t attr = { .id = ATTR_SYSCTLS, .value.s32list = { .count = SYSCTLS, .list = values } };
	sai_status_t status = object_store(object_switch(), &attr);

	return status ? status : object_save(object_switch());
}

long multipath_kernel_fields(void)
{
	/* By policy: addresses, protocol and label; 5-tuple; the same of the inner header; fields. */
	static const long by_policy[] = { 0x000f, 0x0037, 0x0037 };
	int32_t before[SYSCTLS];
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

/* Sets a sysctl, or with value -1 puts back what it was. */
static sai_status_t bring(size_t i, long value, int32_t before[SYSCTLS])
{
	sai_status_t status = SAI_STATUS_SUCCESS;
	long now;
	int err;

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
	int32_t before[SYSCTLS];
	sai_status_t status;

	kept(before);
	status = bring(bits, fields ? (long)fields : -1, before);
	return status ? status : bring(policy, fields ? POLICY_FIELDS : -1, before);
}

bool multipath_managed(void)
{
	int32_t before[SYSCTLS];

	kept(before);
	for (size_t i = 0; i < SYSCTLS; i++)
		if (before[i] >= 0)
			return true;
	return false;
}

sai_status_t multipath_reset(void)
{
	sai_status_t status = multipath_set(0, 0);

	return status ? status : multipath_set(1, 0);
}
