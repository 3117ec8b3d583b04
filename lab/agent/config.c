/*
 * The configuration; see config.h. Lines that are the same in each launch of a machine, /init.conf:
 *	module=FILE [KEY=VALUE ...]	a kernel module and its parameters; loaded in the order of lines
 *	root=DEVICE			the root file system
 *	role=native|host|guest
 *	word=TEXT			role host: a word of the command that starts the guest; the first is its path
 *	queues=N			role host: pairs of queues of the VM's network card; 1 if left out
 *	doorbell=ADDRESS		role host: of the hypervisor below (below.h), if there is one
 *	setup=COMMAND			runs once before all workloads, on this role's side
 *	server=CPU COMMAND		role host: runs beside the VM, and is started before it
 *	socket=PATH			role host: a server makes it; the VM is started when all are there
 *	pin=CPU THREAD			role host: the CPU of those threads of the VM's program whose names begin so;
 *					role native (several.h): clients have a CPU of their own, the first
 * Lines of a launch (asked.h):
 *	append=WORDS			what the runner asks for (selection.c)
 *	file=NAME			begins a file of the workloads; text=LINE are its lines
 *	workload=NAME			begins a workload; the lines behind it are its own:
 *	units=N shorter=N place=client|inside steps=yes prepare= serve= beside= run= proof=
 *	requests=disk|net DEVICE DEPTH [busy]	in place of run=, with place=inside
 */
#include <string.h>

#include "config.h"

static bool is_name(const char *name)
{
	size_t bytes = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	return bytes > 0 && bytes <= MAX_NAME && !name[bytes];
}

const struct workload *config_workload(const struct config *config, const char *name, size_t bytes)
{
	for (unsigned i = 0; i < config->workload_count; i++)
		if (text_is(name, bytes, config->workloads[i].name))
			return &config->workloads[i];
	return NULL;
}

static const char *add_workload(struct config *config, const char *name)
{
	if (!is_name(name))
		return "the name of a workload has 1 to 64 of a-z 0-9 - _";
	if (config_workload(config, name, strlen(name)))
		return "two workloads have the same name";
	if (config->workload_count == MAX_WORKLOADS)
		return "too many workloads";
	config->workloads[config->workload_count++] = (struct workload){ .name = name };
	return NULL;
}

static const char *set_units(struct workload *workload, const char *value)
{
	if (parse_u64(value, strlen(value), &workload->units) && workload->units)
		return NULL;
	return "units= must be a number from 1";
}

static const char *set_shorter(struct workload *workload, const char *value)
{
	if (parse_u64(value, strlen(value), &workload->shorter) && workload->shorter)
		return NULL;
	return "shorter= must be a number from 1";
}

static const char *set_place(struct workload *workload, const char *value)
{
	workload->placed = true;
	workload->inside = strcmp(value, "inside") == 0;
	return workload->inside || strcmp(value, "client") == 0 ? NULL
								: "place= must be client or inside";
}

static const char *set_steps(struct workload *workload, const char *value)
{
	workload->steps = strcmp(value, "yes") == 0;
	return workload->steps ? NULL : "steps= must be yes";
}

static const char *set_queues(struct config *config, const char *value)
{
	if (parse_u64(value, strlen(value), &config->queues) && config->queues &&
	    config->queues <= MAX_CPUS)
		return NULL;
	return "queues= must be a number from 1 to 64";
}

static const char *set_doorbell(struct config *config, const char *value)
{
	if (parse_u64(value, strlen(value), &config->doorbell) && config->doorbell &&
	    config->doorbell % sizeof(uint64_t) == 0)
		return NULL;
	return "doorbell= must be a multiple of 8";
}

static const char *set_command(const char **command, const char *value)
{
	*command = *value ? value : NULL;
	return NULL;
}

/* Ends the word that `*rest` begins with, and moves *rest behind it. */
static char *take_word(char **rest)
{
	char *word = *rest, *end = word + strcspn(word, " ");

	*rest = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static const char *set_requests(struct requests *requests, char *value)
{
	const char *kind = take_word(&value), *depth;

	requests->kind = strcmp(kind, "disk") == 0  ? DEVICE_DISK
			 : strcmp(kind, "net") == 0 ? DEVICE_NET
						    : DEVICE_NONE;
	requests->device = take_word(&value);
	depth = take_word(&value);
	requests->busy = strcmp(value, "busy") == 0;
	if (!requests->kind || !*requests->device ||
	    !parse_u64(depth, strlen(depth), &requests->depth) || !requests->depth ||
	    requests->depth > MAX_DEPTH || (*value && !requests->busy))
		return "requests= must be disk|net DEVICE DEPTH [busy], with a depth of 1 to 64";
	return NULL;
}

/* A line of a workload. Returns what is wrong with it, or NULL. */
static const char *workload_line(struct workload *workload, const char *key, char *value)
{
	if (strcmp(key, "units") == 0)
		return set_units(workload, value);
	if (strcmp(key, "shorter") == 0)
		return set_shorter(workload, value);
	if (strcmp(key, "place") == 0)
		return set_place(workload, value);
	if (strcmp(key, "steps") == 0)
		return set_steps(workload, value);
	if (strcmp(key, "prepare") == 0)
		return set_command(&workload->prepare, value);
	if (strcmp(key, "serve") == 0)
		return set_command(&workload->serve, value);
	if (strcmp(key, "beside") == 0)
		return set_command(&workload->beside, value);
	if (strcmp(key, "run") == 0)
		return set_command(&workload->run, value);
	if (strcmp(key, "proof") == 0)
		return set_command(&workload->proof, value);
	if (strcmp(key, "requests") == 0)
		return set_requests(&workload->requests, value);
	return "no line begins so";
}

static const char *set_role(struct config *config, const char *value)
{
	static const char *const names[] = { "", "native", "host", "guest" };

	for (unsigned role = ROLE_NATIVE; role <= ROLE_GUEST; role++)
		if (strcmp(value, names[role]) == 0)
			config->role = (enum role)role;
	return config->role ? NULL : "role= must be native, host or guest";
}

static const char *add(char **list, unsigned *count, unsigned most, char *value)
{
	if (*count == most)
		return "too many lines of this kind";
	list[(*count)++] = value;
	return NULL;
}

static const char *add_place(struct place *places, unsigned *count, unsigned most, char *value)
{
	const char *number = take_word(&value);
	uint64_t cpu;

	if (*count == most)
		return "too many lines of this kind";
	if (!parse_u64(number, strlen(number), &cpu) || cpu >= MAX_CPUS || !*value ||
	    strlen(value) > MAX_SERVER_BYTES)
		return "a CPU must be first, then a command or a thread";
	places[(*count)++] = (struct place){ .what = value, .cpu = (unsigned)cpu };
	return NULL;
}

static bool is_file_name(const char *name)
{
	size_t bytes =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.");

	return bytes > 0 && bytes <= MAX_NAME && !name[bytes] && name[0] != '.';
}

static const char *add_file(struct config *config, char *name)
{
	if (!is_file_name(name))
		return "the name of a file has 1 to 64 of A-Z a-z 0-9 - _ . and does not begin with a dot";
	if (config->file_count == MAX_FILES)
		return "too many files";
	config->files[config->file_count++] =
		(struct file){ .name = name, .text = name + strlen(name) + 1 };
	return NULL;
}

/* Moves the line to the end of the file's others: "text=" before each leaves room for its newline. */
static const char *add_text(struct config *config, const char *line)
{
	size_t bytes = strlen(line);
	struct file *file;

	if (config->file_count == 0)
		return "text= must come after file=";
	file = &config->files[config->file_count - 1];
	memmove(file->text + file->bytes, line, bytes);
	file->bytes += bytes;
	file->text[file->bytes++] = '\n';
	return NULL;
}

static const char *take_line(struct config *config, const char *key, char *value)
{
	if (strcmp(key, "module") == 0)
		return add(config->modules, &config->module_count, MAX_MODULES, value);
	if (strcmp(key, "word") == 0)
		return add(config->words, &config->word_count, MAX_WORDS, value);
	if (strcmp(key, "setup") == 0)
		return add(config->setups, &config->setup_count, MAX_SETUPS, value);
	if (strcmp(key, "server") == 0)
		return add_place(config->servers, &config->server_count, MAX_SERVERS, value);
	if (strcmp(key, "socket") == 0)
		return add(config->sockets, &config->socket_count, MAX_SOCKETS, value);
	if (strcmp(key, "pin") == 0)
		return add_place(config->pins, &config->pin_count, MAX_PINS, value);
	if (strcmp(key, "root") == 0)
		return set_command(&config->root, value);
	if (strcmp(key, "append") == 0)
		return set_command(&config->append, value);
	if (strcmp(key, "role") == 0)
		return set_role(config, value);
	if (strcmp(key, "queues") == 0)
		return set_queues(config, value);
	if (strcmp(key, "doorbell") == 0)
		return set_doorbell(config, value);
	if (strcmp(key, "file") == 0)
		return add_file(config, value);
	if (strcmp(key, "text") == 0)
		return add_text(config, value);
	if (strcmp(key, "workload") == 0)
		return add_workload(config, value);
	if (config->workload_count == 0)
		return "no line begins so before the first workload=";
	return workload_line(&config->workloads[config->workload_count - 1], key, value);
}

/* What is missing, or NULL. */
static const char *missing(const struct config *config)
{
	if (!config->role)
		return "role=";
	if (!config->root)
		return "root=";
	if (config->role == ROLE_HOST && config->word_count == 0)
		return "word=, the command that starts the guest";
	return NULL;
}

static const char *missing_of(const struct workload *workload)
{
	if (!workload->units)
		return "units=";
	if (!workload->placed)
		return "place=";
	if (workload->requests.kind && !workload->inside)
		return "place=inside, which requests= needs";
	if (workload->shorter >= workload->units)
		return "units= with more than shorter=";
	if (workload->steps && workload->inside)
		return "place=client, which steps= needs";
	return workload->run || workload->requests.kind ? NULL : "run=";
}

static bool lacks_nothing(const char *what, struct text *error)
{
	if (what)
		text_printf(error, "it has no line %s", what);
	return !what;
}

static bool is_whole(const struct config *config, struct text *error)
{
	if (!lacks_nothing(config->workload_count ? NULL : "workload=", error))
		return false;
	for (unsigned i = 0; i < config->workload_count; i++) {
		const char *what = missing_of(&config->workloads[i]);

		if (what) {
			text_printf(error, "workload %s has no line %s", config->workloads[i].name,
				    what);
			return false;
		}
	}
	return true;
}

static bool read_lines(struct config *config, char *text, size_t bytes, struct text *error)
{
	char *end = text + bytes;

	for (unsigned number = 1; text < end; number++) {
		char *line = text, *newline = memchr(text, '\n', (size_t)(end - text));
		const char *wrong = "it has no newline at its end";
		char *equals;

		if (newline) {
			*newline = '\0';
			equals = strchr(line, '=');
			wrong = "it is no KEY=VALUE";
			if (strlen(line) != (size_t)(newline - line)) {
				wrong = "it has a byte of 0";
			} else if (equals) {
				*equals = '\0';
				wrong = take_line(config, line, equals + 1);
			}
		}
		if (wrong) {
			text_printf(error, "line %u: %s", number, wrong);
			return false;
		}
		text = newline + 1;
	}
	return true;
}

bool config_read(struct config *config, char *text, size_t bytes, struct text *error)
{
	*config = (struct config){ .queues = 1 };
	return read_lines(config, text, bytes, error) && lacks_nothing(missing(config), error);
}

bool config_add(struct config *config, char *text, size_t bytes, struct text *error)
{
	return read_lines(config, text, bytes, error) && is_whole(config, error);
}
