/* Unit tests of host/unpack.c, in a folder of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/unpack.h"

static char archive[4096];
static size_t bytes;

static void pad(void)
{
	while (bytes % 4)
		archive[bytes++] = '\0';
}

static void add(const char *name, unsigned mode, const char *content)
{
	bytes += (size_t)sprintf(
		archive + bytes, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", 1,
		mode, 0, 0, 1, 0, strlen(content), 0, 0, 0, 0, strlen(name) + 1, 0);
	bytes += (size_t)sprintf(archive + bytes, "%s", name) + 1;
	pad();
	bytes += (size_t)sprintf(archive + bytes, "%s", content);
	pad();
}

static int begin(void **state)
{
	static char folder[] = "/tmp/unpack-XXXXXX";

	strcpy(folder, "/tmp/unpack-XXXXXX");
	*state = mkdtemp(folder);
	bytes = 0;
	memset(archive, 0, sizeof(archive));
	return *state && chdir(*state) == 0 ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", (char *)*state);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void read_all(const char *path, char text[64])
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, 63, file)] = '\0';
	fclose(file);
}

static void files_folders_and_links_are_made(void **state)
{
	struct stat status;
	char text[64] = "";

	(void)state;
	umask(0);
	add("lab", 040755, "");
	add("lab/init", 0100755, "#!");
	add("bin", 0120777, "usr/bin");
	add("tmp", 041777, "");
	add("TRAILER!!!", 0, "");
	assert_null(unpack(archive, bytes));
	read_all("lab/init", text);
	assert_string_equal(text, "#!");
	assert_int_equal(stat("lab/init", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	assert_int_equal(stat("tmp", &status), 0);
	assert_int_equal(status.st_mode & 07777, 01777);
	assert_int_equal(readlink("bin", text, sizeof(text)), 7);
	assert_memory_equal(text, "usr/bin", 7);
}

static void what_leads_out_is_refused(void **state)
{
	static const char *const names[] = { "/etc/x", "../out-of-unpack", "a/../../x", "..", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bytes = 0;
		add(names[i], 0100644, "x");
		add("TRAILER!!!", 0, "");
		assert_non_null(unpack(archive, bytes));
	}
	assert_int_equal(access("../out-of-unpack", F_OK), -1);
}

static void cut_and_damaged_archives_are_refused(void **state)
{
	size_t whole;

	(void)state;
	add("a", 0100644, "content");
	add("TRAILER!!!", 0, "");
	whole = bytes;
	/* But for the padding behind the last name. */
	for (size_t cut = 0; cut < whole - 3; cut++) {
		(void)unlink("a");
		assert_non_null(unpack(archive, cut));
	}
	archive[6 + 8 * 6] = 'g'; /* a digit of the size */
	(void)unlink("a");
	assert_non_null(unpack(archive, whole));
	archive[0] = '1';
	assert_non_null(unpack(archive, whole));
}

static void devices_are_not_made(void **state)
{
	(void)state;
	add("null", 020666, "");
	add("TRAILER!!!", 0, "");
	assert_non_null(unpack(archive, bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_folders_and_links_are_made, begin, end),
		cmocka_unit_test_setup_teardown(what_leads_out_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(cut_and_damaged_archives_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(devices_are_not_made, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
