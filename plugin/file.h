/*
 * The trace's file. Numbers are unsigned LEB128 but where said otherwise:
 *
 *	"worldswitch-trace 3\n"
 *	the target's name ("x86_64"), a newline
 *	why the trace is not whole, or nothing, a newline
 *	windows dropped
 *	1: registers and memory were looked at, so that accesses are known; 0: they were not
 *	instructions that are in a path, and for each: address (8 bytes, little endian), location (same), size
 *		(1 byte), its bytes; they are numbered from 1
 *	paths, and for each: its length, then for each of its instructions the difference of its number to the
 *		number of the one before it (at first 0) as zigzag; then its cuts (trace.h), and for each: at, rest;
 *		then its accesses (trace.h), and for each: at less that of the one before it (at first 0), kind,
 *		which; paths are numbered from 0
 *	windows, and for each: the number of its path
 *	"end\n"
 *
 * The file of counts, with the same numbers:
 *
 *	"worldswitch-counts 2\n"
 *	target, why it is not whole, windows dropped: as above
 *	1: the clock's skips are known; 0: they are not
 *	instructions that were executed in a window, and for each: address, location, size, bytes as of a trace;
 *		they are numbered from 1
 *	windows in the order of time, and for each: its instructions, and for each of these: its number less the
 *		number of the one before it (at first 0), how often it was executed at level 0, and at level 1; then
 *		nanoseconds that the clock skipped; then kinds of exits (ARM), and for each: the VM's level, the
 *		reason (arm.h), how often; then ways between points (counts.h), and for each: from, to, how often,
 *		ticks of all together
 *	"end\n"
 *
 * The file of a stream, with the same numbers:
 *
 *	"worldswitch-stream 1\n"
 *	target, why it is not whole, windows dropped (0): as above
 *	1: the clock's skips are known; 0: they are not
 *	1: the machine has ended; 0: it goes on
 *	instructions that were executed, in all
 *	instructions of the table that were executed, and for each: address, location, size, bytes as of a trace; when it
 *		was executed first, from 1, times two, plus its level then; they are numbered from 1
 *	the last items, and for each: the difference of its number to the number of the one before it (at first 0) as
 *		zigzag, its CPU times two plus its level, nanoseconds that the clock skipped just before it
 *	"end\n"
 */
#pragma once

#include "counts.h"
#include "stream.h"
#include "trace.h"

/* False: errno says why it could not be written. */
bool file_write(const struct trace *trace, const char *target, const char *path);
bool file_write_counts(const struct counts *counts, const char *target, const char *path);
bool file_write_stream(const struct stream *stream, const char *target, const char *path);
