/* Tests of what needs no kernel: values in records, tables, hidden capabilities. */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hide.h"
#include "pace.h"
#include "storm.h"
#include "tables.h"
#include "type.h"
#include "value.h"

static const struct attribute attributes[] = {
	{ 1, PLAIN, 8, CREATE, NULL },	      { 2, LIST, 4, CREATE, NULL },   { 3, FIELD, 16, CREATE, NULL },
	{ 4, FIELD_LIST, 1, CREATE, NULL },   { 5, ACTION, 8, CREATE, NULL }, { 6, ACTION_LIST, 8, CREATE, NULL },
	{ 7, PLAIN, 1, CREATE, "invisible" },
};
static const struct type type = { .attributes = attributes, .count = 7 };

/* Through a copy, a record, and out again: the same octets in the record. */
static void round_trip(const sai_attribute_t *attr)
{
	const struct attribute *a = type_attribute(&type, attr->id), *found;
	uint8_t first[256], second[256];
	sai_attribute_t copy = { .id = attr->id }, read;
	size_t n;

	assert(value_valid(a, &attr->value));
	assert(value_copy(a, &copy.value, &attr->value) == 0);
	n = value_encode(a, &copy, first, sizeof(first));
	assert(n > 8);
	assert(value_decode(&type, first, n, &read, &found) == n);
	assert(found == a && read.id == attr->id);
	assert(value_encode(a, &read, second, sizeof(second)) == n);
	assert(memcmp(first, second, n) == 0);
	value_free(a, &read.value);

	/* No room, and no whole record: refused, nothing read beyond the end. */
	for (size_t cut = 0; cut < n; cut++) {
		assert(value_encode(a, &copy, second, cut) == 0);
		memcpy(second, first, cut);
		assert(value_decode(&type, second, cut, &read, &found) == 0);
	}
	value_free(a, &copy.value);
}

static void test_values(void)
{
	int32_t numbers[] = { 1, -2, 3 };
	uint8_t data[] = { 0, 1, 2, 3 }, mask[] = { 0, 0xff, 0xff, 0xff };
	sai_object_id_t ids[] = { 7, 8 };
	sai_attribute_t u64 = { .id = 1, .value.u64 = 1ULL << 60 };
	sai_attribute_t list = { .id = 2, .value.s32list = { 3, numbers } };
	sai_attribute_t nothing = { .id = 2 };
	sai_attribute_t field = { .id = 3 }, octets = { .id = 4 }, action = { .id = 5 }, actions = { .id = 6 };

	field.value.aclfield.enable = true;
	memset(field.value.aclfield.data.ip6, 0x20, 16);
	memset(field.value.aclfield.mask.ip6, 0xff, 16);
	octets.value.aclfield.enable = true;
	octets.value.aclfield.data.u8list = (sai_u8_list_t){ 4, data };
	octets.value.aclfield.mask.u8list = (sai_u8_list_t){ 4, mask };
	action.value.aclaction.enable = true;
	action.value.aclaction.parameter.oid = 9;
	actions.value.aclaction.enable = true;
	actions.value.aclaction.parameter.objlist = (sai_object_list_t){ 2, ids };
	round_trip(&u64);
	round_trip(&list);
	round_trip(&nothing);
	round_trip(&field);
	round_trip(&octets);
	round_trip(&action);
	round_trip(&actions);

	list.value.s32list.list = NULL;
	assert(!value_valid(&attributes[1], &list.value));
	octets.value.aclfield.enable = false; /* then its lists are not looked at */
	octets.value.aclfield.data.u8list.list = NULL;
	assert(value_valid(&attributes[3], &octets.value));
}

/* An object keeps the first octets of a value, which are all that its form has. */
static void test_octets(void)
{
	const size_t want[] = { 8, 16, 40, 40, 16, 24, 1 };

	for (size_t i = 0; i < type.count; i++)
		assert(value_octets(&attributes[i]) == want[i]);
	assert(value_octets(&(struct attribute){ 8, FIELD, 2, CREATE, NULL }) == 26);
}

/* A value that only has the octets of its form is freed within them. */
static void test_free(void)
{
	for (size_t i = 0; i < type.count; i++) {
		size_t n = value_octets(&attributes[i]);
		sai_attribute_value_t *value = calloc(1, n);

		assert(value);
		value_free(&attributes[i], value);
		free(value);
	}
}

static void test_give(void)
{
	int32_t numbers[] = { 1, -2, 3 }, room[3] = {};
	sai_attribute_value_t stored = { .s32list = { 3, numbers } }, got = { .s32list = { 2, room } };

	assert(value_give(&attributes[1], &got, &stored) == SAI_STATUS_BUFFER_OVERFLOW);
	assert(got.s32list.count == 3 && room[0] == 0);
	assert(value_give(&attributes[1], &got, &stored) == SAI_STATUS_SUCCESS);
	assert(memcmp(room, numbers, sizeof(room)) == 0);
	assert(value_give(&attributes[1], &got, NULL) == SAI_STATUS_SUCCESS && got.s32list.count == 0);
}

/* An attribute that this library hides, or does not know, is passed over. */
static void test_unknown(void)
{
	sai_attribute_t attr = { .id = 7, .value.booldata = true }, read;
	const struct attribute *found;
	uint8_t record[64];
	size_t n = value_encode(&attributes[6], &attr, record, sizeof(record));

	hide("else, invisible");
	assert(value_decode(&type, record, n, &read, &found) == n && !found);
	hide(NULL);
	assert(value_decode(&type, record, n, &read, &found) == n && found == &attributes[6]);
}

static void test_hide(void)
{
	hide("compute,udf-hash");
	assert(hidden("compute") && hidden("udf-hash"));
	assert(!hidden("hash") && !hidden("udf") && !hidden("comp") && !hidden(NULL) && !hidden(""));
	hide("");
	assert(!hidden("compute"));
}

/* Check values: CRC-32 of "123456789" is 0xcbf43926; lengths by the IBTA's tables. */
static void test_tables(void)
{
	static uint32_t crc[2][4][256];
	uint8_t lengths[256];
	uint32_t sum = 0xffffffff;

	tables_fill(crc, lengths);
	for (const char *c = "123456789"; *c; c++)
		sum = crc[1][0][(sum ^ *c) & 0xff] ^ sum >> 8;
	assert(~sum == 0xcbf43926);
	assert(crc[0][0][128] == 0x04c11db7);
	assert(lengths[0x04] == 12 && lengths[0x06] == 28 && lengths[0x11] == 16 && lengths[0x13] == 40);
	assert(lengths[0x64] == 20 && lengths[0x81] == 28 && lengths[0xa6] == 32 && lengths[0xb1] == 16);
	assert(lengths[0x15] == 12 && lengths[0x2c] == 12 && lengths[0xff] == 12);
}

#define MS 1000000ULL

/* Packets of 1000 octets, one in so many ns, from now on for a time; returns its end. */
static uint64_t pass(struct pace *p, uint64_t now, uint64_t each, uint64_t duration)
{
	for (uint64_t end = now + duration; now < end; now += each)
		pace_measure(p, now, 1000);
	return now;
}

/* Sends as many packets of 1000 octets as wait, one after the other; returns how long that took. */
static uint64_t drain(struct pace *p, uint64_t now, uint64_t waiting)
{
	uint64_t begin = now, at;

	for (; waiting; waiting -= 1000) {
		at = pace_at(p, now, waiting);
		if (at > now)
			now = at;
		pace_take(p, now, waiting, 1000);
	}
	return now - begin;
}

/* What was held leaves at the rate at which it left before, and at a higher one where it would take too long. */
static void test_pace(void)
{
	struct pace p = {};
	uint64_t now = pass(&p, 1000 * MS, MS / 2, 1000 * MS), took; /* 2 MB/s */

	took = drain(&p, now, 1000000);
	assert(took > 490 * MS && took < 510 * MS);
	/* Others end later: all of 10 MB leave within the time. */
	now = pass(&p, now + took, MS / 2, 1000 * MS);
	took = drain(&p, now, 10000000);
	assert(took > PACE_DRAIN / 2 && took < PACE_DRAIN + MS);
	/* A delay is made up for by a burst of 2 ms. */
	now = pass(&p, now + took, MS / 2, 1000 * MS);
	took = drain(&p, now, 100000);
	now += took + 50 * MS;
	assert(pace_at(&p, now, 100000) <= now);
	assert(drain(&p, now, 100000) >= 46 * MS);
	/* Another hold that asks with a time before the begin of the span is paced, too. */
	now = pass(&p, now + 1000 * MS, MS / 2, 1000 * MS);
	while (p.since != now - MS / 2)
		now = pass(&p, now, MS / 2, MS / 2);
	pace_at(&p, now - MS, 1000000);
	took = drain(&p, now, 1000000);
	assert(took > 490 * MS && took < 510 * MS);
	/* Nothing is known of the next queue at first, and after a while. */
	p = (struct pace){};
	assert(drain(&p, now, 1000000) == 0);
	now = pass(&p, now + 1000 * MS, MS / 2, 1000 * MS) + PACE_STALE + MS;
	assert(drain(&p, now, 1000000) == 0);
}

/*
 * The receiver of what leaves: a queue that takes 2 MB/s. The sender stalls for so long after each
 * so many packets. Returns the most octets that ever waited there.
 */
static uint64_t receive(uint64_t waiting, uint64_t stall, int each)
{
	struct pace p = {};
	uint64_t now = pass(&p, 1000 * MS, MS / 2, 1000 * MS), last = now, depth = 0, most = 0, out;

	for (int sent = 1; waiting; waiting -= 1000, sent++) {
		uint64_t at = pace_at(&p, now, waiting);

		now = at > now ? at : now;
		pace_take(&p, now, waiting, 1000);
		out = (now - last) / 500; /* 2 MB/s */
		depth = (depth > out ? depth - out : 0) + 1000;
		last = now;
		most = depth > most ? depth : most;
		if (sent % each == 0)
			now += stall;
	}
	return most;
}

/* However the sender stalls, short of a freeze, the next queue gets what it takes, and a burst or two. */
static void test_stalls(void)
{
	for (uint64_t stall = 0; stall < 95; stall += 5)
		assert(receive(1000000, stall * MS, 100) <= 3 * 2 * 1000 * PACE_BURST / MS);
	for (int each = 1000; each < 3500; each += 50) /* near the end of the time as well */
		assert(receive(3000000, 90 * MS, each) <= 3 * 2 * 1000 * PACE_BURST / MS);
}

/* A neighbor that refreshes a pause for ever, each so many ns; returns how many of 1000 ms it paused. */
static uint64_t storm(struct storm *s, uint64_t *now, uint64_t asked, uint64_t each)
{
	uint64_t paused = 0, until = 0, pause;

	for (uint64_t end = *now + 1000 * MS; *now < end; *now += each) {
		if (storm_obeys(s, *now, asked, &pause))
			until = *now + pause;
		if (*now < until)
			paused += until - *now < each ? until - *now : each;
	}
	return paused / MS;
}

/* A pause without an end is obeyed for the limit, and ignored as long; a resume ends both. */
static void test_storm(void)
{
	struct storm s = {};
	uint64_t now = 1000 * MS, pause;

	assert(storm(&s, &now, 10 * MS, 5 * MS) == 600); /* 400, not 400, 200 */
	s = (struct storm){};
	assert(storm(&s, &now, 30000 * MS, 5 * MS) ==
	       600); /* of a slow port: each frame asks for more than the limit */
	assert(storm_obeys(&s, now, 0, &pause) && !pause);
	assert(storm_obeys(&s, now, 10 * MS, &pause) && pause == 10 * MS);
	/* A neighbor that resumes, or lets a pause end, is obeyed for good. */
	for (int i = 0; i < 1000; i++, now += 10 * MS) {
		assert(storm_obeys(&s, now, 20 * MS, &pause) && pause == 20 * MS);
		assert(storm_obeys(&s, now + 9 * MS, 0, &pause) && !pause);
	}
	for (int i = 0; i < 1000; i++, now += 11 * MS)
		assert(storm_obeys(&s, now, 10 * MS, &pause) && pause == 10 * MS);
	/* Of one long pause without a refresh the rest is void. */
	now += 1000 * MS;
	assert(storm_obeys(&s, now, 30000 * MS, &pause) && pause == STORM_LIMIT);
	assert(!storm_obeys(&s, now + STORM_LIMIT, MS, &pause) &&
	       !storm_obeys(&s, now + 2 * STORM_LIMIT - 1, MS, &pause));
	assert(storm_obeys(&s, now + 2 * STORM_LIMIT, MS, &pause) && pause == MS);
}

int main(void)
{
	test_pace();
	test_stalls();
	test_storm();
	test_values();
	test_octets();
	test_free();
	test_give();
	test_unknown();
	test_hide();
	test_tables();
	return 0;
}
