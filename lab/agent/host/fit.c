/* Two clocks; see fit.h. */
#include "host/fit.h"

#include <stdbool.h>
#include <stdlib.h>

/* Clocks that differ by more are not of the same world, or were set meanwhile. */
#define DRIFT_LIMIT 0.01

static uint64_t length(const struct round_trip *trip)
{
	return trip->back - trip->sent;
}

static int by_length(const void *a, const void *b)
{
	uint64_t one = length(a), other = length(b);

	return (one > other) - (one < other);
}

unsigned fit_keep(struct round_trip *trips, unsigned count)
{
	unsigned kept = 0;

	qsort(trips, count, sizeof(*trips), by_length);
	while (kept < count && kept < FIT_KEPT && length(&trips[kept]) <= 2 * length(&trips[0]))
		kept++;
	return kept;
}

/* When a round trip was in the VM, and how far the host's clock was ahead then. */
static double vm_time(const struct fit *fit, const struct round_trip *trip)
{
	return (double)(int64_t)(trip->there - fit->vm_base);
}

static double ahead(const struct fit *fit, const struct round_trip *trip)
{
	double sent = (double)(int64_t)(trip->sent - fit->host_base);

	return sent + (double)length(trip) / 2 - vm_time(fit, trip);
}

static void least_squares(struct fit *fit, const struct round_trip *trips, unsigned count)
{
	double x_mean = 0, y_mean = 0, squares = 0, products = 0;

	for (unsigned i = 0; i < count; i++) {
		x_mean += vm_time(fit, &trips[i]) / count;
		y_mean += ahead(fit, &trips[i]) / count;
	}
	for (unsigned i = 0; i < count; i++) {
		double x = vm_time(fit, &trips[i]) - x_mean;

		squares += x * x;
		products += x * (ahead(fit, &trips[i]) - y_mean);
	}
	fit->drift = squares > 0 ? products / squares : 0;
	fit->begin_ns = y_mean - fit->drift * x_mean;
}

static bool is_near(const struct fit *fit, const struct round_trip *trip)
{
	double off = ahead(fit, trip) - fit->begin_ns - fit->drift * vm_time(fit, trip);
	/* A true time is within the bound, and so is the line. */
	double limit = 2 * (double)fit->bound_ns;

	return off <= limit && off >= -limit;
}

const char *fit_line(struct fit *fit, const struct round_trip *trips, unsigned count,
		     uint64_t vm_base)
{
	*fit = (struct fit){ .vm_base = vm_base };
	if (count == 0)
		return "the VM's clock was not compared with the host's";
	fit->host_base = trips[0].sent;
	for (unsigned i = 0; i < count; i++)
		if (length(&trips[i]) / 2 >= fit->bound_ns)
			fit->bound_ns = length(&trips[i]) / 2 + 1;
	least_squares(fit, trips, count);
	if (fit->drift > DRIFT_LIMIT || fit->drift < -DRIFT_LIMIT)
		return "a clock was set meanwhile";
	for (unsigned i = 0; i < count; i++)
		if (!is_near(fit, &trips[i]))
			return "the clocks of host and VM do not run alike";
	return NULL;
}

uint64_t fit_sum(const struct fit *fit, uint64_t sum, uint64_t count)
{
	double more = fit->begin_ns * (double)count + fit->drift * (double)(int64_t)sum;

	return sum + fit->host_base * count +
	       (uint64_t)(int64_t)(more < 0 ? more - 0.5 : more + 0.5);
}
