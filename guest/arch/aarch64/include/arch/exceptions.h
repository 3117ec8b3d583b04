/* Exception kinds that exceptions.S passes to exceptions.c. */
#ifndef EXCEPTIONS_H
#define EXCEPTIONS_H

#define EXCEPTION_SYNCHRONOUS 1
#define EXCEPTION_FIQ	      2
#define EXCEPTION_SERROR      3
#define EXCEPTION_ELSEWHERE   4 /* by a vector that should never be used */

#endif
