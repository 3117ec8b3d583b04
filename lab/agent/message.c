/* The lines between host and guest; see message.h. */
#include <string.h>

#include "message.h"
#include "common/word.h"

#define MAX_TEXT 300 /* bytes of the free text in a line */

static const char *const phases[PHASES] = { "prepare", "serve", "run",	 "measure",
					    "proof",   "clean", "trace", "steps" };

const char *phase_name(enum phase phase)
{
	return phases[phase];
}

/* The words of a line, one after the other. */
struct words {
	char line[MAX_MESSAGE + 1];
	const char *rest;
};

static bool next(struct words *words, struct word *word)
{
	return word_next(&words->rest, word);
}

/* A word without regard of "=" in it. */
static size_t word_bytes(const struct word *word)
{
	return (size_t)(word->value + word->value_bytes - word->key);
}

static bool next_number(struct words *words, uint64_t *value)
{
	struct word word;

	return next(words, &word) && parse_u64(word.key, word_bytes(&word), value);
}

static bool next_name(struct words *words, struct message *message)
{
	struct word word;

	if (!next(words, &word) || word_bytes(&word) > MAX_NAME)
		return false;
	memcpy(message->name, word.key, word_bytes(&word));
	message->name[word_bytes(&word)] = '\0';
	return true;
}

static bool next_phase(struct words *words, enum phase *phase)
{
	struct word word;

	if (!next(words, &word))
		return false;
	for (unsigned i = 0; i < PHASES; i++) {
		if (text_is(word.key, word_bytes(&word), phases[i])) {
			*phase = (enum phase)i;
			return true;
		}
	}
	return false;
}

static bool next_status(struct words *words, uint64_t *status)
{
	const char *before = words->rest;
	struct word word;

	if (next(words, &word) && text_is(word.key, word_bytes(&word), "limit")) {
		*status = STATUS_LIMIT;
		return true;
	}
	words->rest = before;
	return next_number(words, status) && *status < STATUS_LIMIT;
}

/* The rest of the line. */
static void take_text(struct words *words, struct message *message)
{
	while (*words->rest == ' ')
		words->rest++;
	strcpy(message->text, words->rest);
	words->rest += strlen(words->rest);
}

/* Bytes that are no printable ASCII, and "%", are two digits behind "%". */
static bool take_asked(struct words *words, struct message *message)
{
	char *to = message->text;

	take_text(words, message);
	for (const char *from = message->text; *from; from++) {
		uint64_t byte = (unsigned char)*from;

		if (*from == '%') {
			if (!from[1] || !from[2] || !parse_hex(from + 1, 2, &byte) || byte == 0 ||
			    byte == '\n')
				return false;
			from += 2;
		}
		*to++ = (char)byte;
	}
	memset(to, 0, sizeof(message->text) - (size_t)(to - message->text));
	return to - message->text <= MAX_PART;
}

static bool read_kind(struct message *message, struct words *words)
{
	static const char *const kinds[] = {
		[MESSAGE_READY] = "ready", [MESSAGE_PART] = "part",   [MESSAGE_LINE] = "line",
		[MESSAGE_DO] = "do",	   [MESSAGE_BEGIN] = "begin", [MESSAGE_END] = "end",
		[MESSAGE_GO] = "go",	   [MESSAGE_DONE] = "done",   [MESSAGE_OFF] = "off"
	};
	struct word word;

	if (!next(words, &word))
		return false;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (text_is(word.key, word_bytes(&word), kinds[i])) {
			message->kind = (enum message_kind)i;
			return true;
		}
	}
	return false;
}

static bool read_rest(struct message *message, struct words *words)
{
	switch (message->kind) {
	case MESSAGE_READY:
		if (!next_number(words, &message->cpus) || message->cpus > MAX_CPUS ||
		    !next_number(words, &message->memory_bytes) || !next_name(words, message))
			return false;
		take_text(words, message);
		return true;
	case MESSAGE_PART:
	case MESSAGE_LINE:
		return next_number(words, &message->number) && take_asked(words, message);
	case MESSAGE_DO:
		return next_number(words, &message->number) && next_phase(words, &message->phase) &&
		       next_name(words, message) && next_number(words, &message->units) &&
		       next_number(words, &message->pad);
	case MESSAGE_END:
		return next_number(words, &message->number) && next_number(words, &message->ticks);
	case MESSAGE_DONE:
		if (!next_number(words, &message->number) || !next_status(words, &message->status))
			return false;
		take_text(words, message);
		return true;
	case MESSAGE_BEGIN:
	case MESSAGE_GO:
		return next_number(words, &message->number);
	case MESSAGE_OFF:
		break;
	}
	return true;
}

bool message_read(struct message *message, const char *line, size_t bytes)
{
	struct words words;
	struct word left;

	if (bytes >= MAX_MESSAGE)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (line[i] < ' ' || line[i] > '~')
			return false;
	memcpy(words.line, line, bytes);
	words.line[bytes] = '\0';
	words.rest = words.line;
	*message = (struct message){ .number = 0 };
	return read_kind(message, &words) && read_rest(message, &words) && !next(&words, &left);
}

/* A single word: blanks and what can't be printed become "_". */
static void put_name(struct text *out, const char *name)
{
	text_printf(out, " ");
	if (!*name)
		text_printf(out, "-");
	for (unsigned i = 0; i < MAX_NAME && name[i]; i++)
		text_printf(out, "%c", name[i] > ' ' && name[i] <= '~' ? name[i] : '_');
}

static void put_text(struct text *out, const char *text)
{
	text_printf(out, " ");
	for (unsigned i = 0; i < MAX_TEXT && text[i]; i++)
		text_printf(out, "%c", text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
}

/* A blank at its beginning would be taken for one between words. */
static void put_asked(struct text *out, const char *text)
{
	text_printf(out, " ");
	for (unsigned i = 0; i < MAX_PART && text[i]; i++) {
		bool plain = text[i] >= ' ' && text[i] <= '~' && text[i] != '%';

		if (plain && (i || text[i] != ' '))
			text_printf(out, "%c", text[i]);
		else
			text_printf(out, "%%%02x", (unsigned char)text[i]);
	}
}

void message_write(const struct message *message, struct text *out)
{
	switch (message->kind) {
	case MESSAGE_READY:
		text_printf(out, "ready %lu %lu", message->cpus, message->memory_bytes);
		put_name(out, message->name);
		put_text(out, message->text);
		break;
	case MESSAGE_PART:
	case MESSAGE_LINE:
		text_printf(out, "%s %lu", message->kind == MESSAGE_PART ? "part" : "line",
			    message->number);
		put_asked(out, message->text);
		break;
	case MESSAGE_DO:
		text_printf(out, "do %lu %s", message->number, phases[message->phase]);
		put_name(out, message->name);
		text_printf(out, " %lu %lu", message->units, message->pad);
		break;
	case MESSAGE_BEGIN:
		text_printf(out, "begin %lu", message->number);
		break;
	case MESSAGE_END:
		/* Each byte is an exit: those of the mark must not depend on the number. */
		text_printf(out, "end %lu %020lu", message->number, message->ticks);
		break;
	case MESSAGE_GO:
		text_printf(out, "go %lu", message->number);
		break;
	case MESSAGE_DONE:
		text_printf(out, "done %lu ", message->number);
		if (message->status == STATUS_LIMIT)
			text_printf(out, "limit");
		else
			text_printf(out, "%lu", message->status);
		put_text(out, message->text);
		break;
	case MESSAGE_OFF:
		text_printf(out, "off");
		break;
	}
	text_printf(out, "\n");
}
