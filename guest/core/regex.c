/*
 * Regular expressions for bench=: the pattern becomes a nondeterministic automaton, which is run on all its
 * states at once (Thompson, "Regular Expression Search Algorithm", CACM 1968), so the time is at most
 * pattern length times text length. Pure.
 */
#include "guest/core/regex.h"

#include <stddef.h>
#include <stdint.h>

#define MAX_NODES   4096
#define MAX_CLASSES 64
#define MAX_DEPTH   32
#define NONE	    0xffffu

enum kind { CHARACTER, ANY, CLASS, BEGIN, END, SPLIT, EMPTY, MATCH };

struct node {
	uint8_t kind, value;  /* value: the character, or the class's index */
	uint16_t next, other; /* other: SPLIT's second branch */
};

/* A fragment: it begins at `first` and continues at `last->next`. */
struct piece {
	uint16_t first, last;
};

struct automaton {
	struct node nodes[MAX_NODES];
	uint8_t classes[MAX_CLASSES][16]; /* one bit for each ASCII character */
	unsigned node_count, class_count;
	const char *pattern; /* the part not yet parsed */
	bool wrong;
};

static uint16_t node(struct automaton *a, enum kind kind, unsigned value)
{
	if (a->node_count == MAX_NODES) {
		a->wrong = true;
		return 0;
	}
	a->nodes[a->node_count] = (struct node){
		.kind = (uint8_t)kind, .value = (uint8_t)value, .next = NONE, .other = NONE
	};
	return (uint16_t)a->node_count++;
}

static struct piece single(struct automaton *a, enum kind kind, unsigned value)
{
	uint16_t n = node(a, kind, value);

	return (struct piece){ n, n };
}

static struct piece character_class(struct automaton *a)
{
	bool negated = *a->pattern == '^';
	bool first = true;
	uint8_t *bits;

	if (a->class_count == MAX_CLASSES) {
		a->wrong = true;
		return single(a, EMPTY, 0);
	}
	bits = a->classes[a->class_count];
	for (unsigned i = 0; i < 16; i++)
		bits[i] = 0;
	if (negated)
		a->pattern++;
	while (first || *a->pattern != ']') {
		unsigned from, to;

		if (*a->pattern == '\\')
			a->pattern++;
		if (!*a->pattern) {
			a->wrong = true;
			break;
		}
		from = to = (unsigned char)*a->pattern++;
		if (a->pattern[0] == '-' && a->pattern[1] && a->pattern[1] != ']') {
			to = (unsigned char)a->pattern[1];
			a->pattern += 2;
		}
		if (to < from || to > 127)
			a->wrong = true;
		for (unsigned c = from; c <= to && c < 128; c++)
			bits[c / 8] |= (uint8_t)(1u << c % 8);
		first = false;
	}
	if (*a->pattern == ']')
		a->pattern++;
	if (negated)
		for (unsigned i = 0; i < 16; i++)
			bits[i] = (uint8_t)~bits[i];
	return single(a, CLASS, a->class_count++);
}

static struct piece alternatives(struct automaton *a, unsigned depth);

static struct piece atom(struct automaton *a, unsigned depth)
{
	char c = *a->pattern++;
	struct piece inner;

	switch (c) {
	case '(':
		if (depth == MAX_DEPTH) {
			a->wrong = true;
			return single(a, EMPTY, 0);
		}
		inner = alternatives(a, depth + 1);
		if (*a->pattern == ')')
			a->pattern++;
		else
			a->wrong = true;
		return inner;
	case '[':
		return character_class(a);
	case '.':
		return single(a, ANY, 0);
	case '^':
		return single(a, BEGIN, 0);
	case '$':
		return single(a, END, 0);
	case '*':
	case '+':
	case '?':
		a->wrong = true; /* nothing to repeat */
		return single(a, EMPTY, 0);
	case '\\':
		if (!*a->pattern) {
			a->wrong = true;
			return single(a, EMPTY, 0);
		}
		return single(a, CHARACTER, (unsigned char)*a->pattern++);
	default:
		return single(a, CHARACTER, (unsigned char)c);
	}
}

/* An atom and its repetition operators. */
static struct piece repeated(struct automaton *a, unsigned depth)
{
	struct piece p = atom(a, depth);

	while (*a->pattern == '*' || *a->pattern == '+' || *a->pattern == '?') {
		char how = *a->pattern++;
		uint16_t split = node(a, SPLIT, 0), out = node(a, EMPTY, 0);

		a->nodes[split].next = p.first;
		a->nodes[split].other = out;
		a->nodes[p.last].next = how == '?' ? out : split;
		p = (struct piece){ how == '+' ? p.first : split, out };
	}
	return p;
}

static struct piece sequence(struct automaton *a, unsigned depth)
{
	struct piece whole = single(a, EMPTY, 0);

	while (*a->pattern && *a->pattern != '|' && *a->pattern != ')' && !a->wrong) {
		struct piece next = repeated(a, depth);

		a->nodes[whole.last].next = next.first;
		whole.last = next.last;
	}
	return whole;
}

static struct piece alternatives(struct automaton *a, unsigned depth)
{
	struct piece whole = sequence(a, depth);

	while (*a->pattern == '|' && !a->wrong) {
		struct piece next;
		uint16_t split, out;

		a->pattern++;
		next = sequence(a, depth);
		split = node(a, SPLIT, 0);
		out = node(a, EMPTY, 0);
		a->nodes[split].next = whole.first;
		a->nodes[split].other = next.first;
		a->nodes[whole.last].next = out;
		a->nodes[next.last].next = out;
		whole = (struct piece){ split, out };
	}
	return whole;
}

/* Returns the first node, NONE if the pattern is invalid. */
static uint16_t compile(struct automaton *a, const char *pattern)
{
	struct piece whole;

	a->node_count = a->class_count = 0;
	a->wrong = false;
	a->pattern = pattern;
	whole = alternatives(a, 0);
	a->nodes[whole.last].next = node(a, MATCH, 0);
	if (*a->pattern || a->wrong) /* only an unmatched ')' is left over */
		return NONE;
	return whole.first;
}

/* The set of active states at one position of the text. */
struct states {
	uint16_t list[MAX_NODES];
	bool in[MAX_NODES];
	unsigned count;
};

/* Adds a state and all states reachable without reading; the list is also the work list. */
static void enter(const struct automaton *a, struct states *s, uint16_t first, bool at_begin,
		  bool at_end)
{
	unsigned done = s->count;

	if (first == NONE || s->in[first])
		return;
	s->in[first] = true;
	s->list[s->count++] = first;
	for (; done < s->count; done++) {
		const struct node *n = &a->nodes[s->list[done]];
		uint16_t ways[2] = { NONE, NONE };

		if (n->kind == EMPTY || n->kind == SPLIT || (n->kind == BEGIN && at_begin) ||
		    (n->kind == END && at_end))
			ways[0] = n->next;
		if (n->kind == SPLIT)
			ways[1] = n->other;
		for (unsigned i = 0; i < 2; i++)
			if (ways[i] != NONE && !s->in[ways[i]]) {
				s->in[ways[i]] = true;
				s->list[s->count++] = ways[i];
			}
	}
}

static void clear(struct states *s)
{
	for (unsigned i = 0; i < s->count; i++)
		s->in[s->list[i]] = false;
	s->count = 0;
}

static bool reads(const struct automaton *a, const struct node *n, unsigned char c)
{
	switch (n->kind) {
	case CHARACTER:
		return n->value == c;
	case ANY:
		return true;
	case CLASS:
		return c < 128 && (a->classes[n->value][c / 8] >> c % 8 & 1);
	default:
		return false;
	}
}

static struct automaton automaton; /* too large for a stack; regex_search is not reentrant */

bool regex_valid(const char *pattern)
{
	return compile(&automaton, pattern) != NONE;
}

bool regex_search(const char *pattern, const char *text)
{
	static struct states sets[2];
	struct states *now = &sets[0], *then = &sets[1];
	uint16_t first = compile(&automaton, pattern);

	if (first == NONE)
		return false;
	clear(now);
	clear(then);
	for (size_t at = 0;; at++) {
		unsigned char c = (unsigned char)text[at];
		struct states *swap = now;

		enter(&automaton, now, first, at == 0, c == 0);
		for (unsigned i = 0; i < now->count; i++)
			if (automaton.nodes[now->list[i]].kind == MATCH)
				return true;
		if (!c)
			return false;
		for (unsigned i = 0; i < now->count; i++) {
			const struct node *n = &automaton.nodes[now->list[i]];

			if (reads(&automaton, n, c))
				enter(&automaton, then, n->next, false, text[at + 1] == 0);
		}
		clear(now);
		now = then;
		then = swap;
	}
}
