// SPDX-License-Identifier: Apache-2.0
/* Messages to the operator: lines on stderr that begin with "softsai:". */
#ifndef SOFTSAI_LOG_H
#define SOFTSAI_LOG_H

#include <stdarg.h>

/* The same numbers as sai_log_level_t. */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_NOTICE, LOG_WARNING, LOG_ERROR, LOG_CRITICAL };

/* Messages below this level are dropped; LOG_WARNING at first. */
void log_set_level(enum log_level level);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define warn(...) log_line(LOG_WARNING, __VA_ARGS__)
#define fail(...) log_line(LOG_ERROR, __VA_ARGS__)

/*
 * Messages of libbpf are kept, not written: many of its warnings are harmless.
 * log_libbpf installs that, log_libbpf_clear forgets them, and log_libbpf_reason returns the
 * line with the reason of a failed load: the verifier's last one, else the last warning,
 * else "".
 */
void log_libbpf(void);
void log_libbpf_clear(void);
const char *log_libbpf_reason(void);

#endif
