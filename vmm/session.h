/* One guest from its file to its end. */
#ifndef SESSION_H
#define SESSION_H

#include "vm.h"

/* Runs what `config` asks for; words for people go to standard error. Returns how it ended. */
int session_run(const struct config *config);

#endif
