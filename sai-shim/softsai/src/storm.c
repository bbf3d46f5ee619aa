// SPDX-License-Identifier: Apache-2.0
#include "storm.h"

bool storm_obeys(struct storm *s, uint64_t now, uint64_t asked, uint64_t *pause)
{
	*pause = asked;
	if (!asked) {
		*s = (struct storm){};
		return true;
	}
	if (now < s->ignored)
		return false;
	if (s->ignored || now >= s->until) /* the pause before is over */
		*s = (struct storm){ .since = now };
	if (asked > s->since + STORM_LIMIT - now) {
		*pause = s->since + STORM_LIMIT - now;
		s->ignored = s->since + 2 * STORM_LIMIT;
	}
	s->until = now + *pause;
	return true;
}
