/* The guest's side: carries out what the host's agent orders. */
#pragma once

#include "config.h"

/* Never returns: powers off when it is told to. */
_Noreturn void orders_follow(struct config *config);
