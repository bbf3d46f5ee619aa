// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

static enum log_level threshold = LOG_WARNING;

void log_set_level(enum log_level level)
{
	threshold = level;
}

void log_line(enum log_level level, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (level < threshold)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "softsai: %s\n", line);
}

static char reason[512];
static int from_verifier;

static void keep_line(const char *line)
{
	size_t n = strcspn(line, "\n");

	if (n >= sizeof(reason))
		n = sizeof(reason) - 1;
	memcpy(reason, line, n);
	reason[n] = 0;
}

/* The verifier's log ends with the instruction it refused, why, and statistics. */
static void keep_verifier_log(char *text)
{
	char *line, *next;

	for (line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		if (strncmp(line, "processed ", 10) == 0 || strstr(line, "PROG LOAD LOG"))
			continue;
		keep_line(line);
		from_verifier = 1;
	}
}

static int keep(enum libbpf_print_level level, const char *format, va_list args)
{
	static char text[1 << 16];
	int n;

	if (level != LIBBPF_WARN)
		return 0;
	n = vsnprintf(text, sizeof(text), format, args);
	if (strstr(text, "BEGIN PROG LOAD LOG")) {
		keep_verifier_log(text);
	} else if (!from_verifier) {
		keep_line(text);
	}
	return n;
}

void log_libbpf(void)
{
	libbpf_set_print(keep);
}

void log_libbpf_clear(void)
{
	reason[0] = 0;
	from_verifier = 0;
}

const char *log_libbpf_reason(void)
{
	return reason;
}
