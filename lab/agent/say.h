/* What the agent says on the console: records (docs/records.md), and lines for people. */
#pragma once

#include "common/record.h"

enum source { SOURCE_GUEST, SOURCE_MONITOR };

void say_set_nonce(uint64_t nonce);
void say_record(struct record *record, enum source source);
/* A line for people, which begins with "agent: ". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The end of a file that others wrote, each line with `who` before it. No byte of it can be taken for a
 * record's. */
void say_end_of(const char *path, const char *who);
/* Waits until the serial port has sent everything: what follows must not be disturbed by it. */
void say_drain(void);
/* Says why, and powers off. For what is wrong before any record was sent. */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
