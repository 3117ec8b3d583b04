/* What exceptions.S tells exceptions.c of an exception. */
#ifndef EXCEPTIONS_H
#define EXCEPTIONS_H

#define EXCEPTION_SYNCHRONOUS 1
#define EXCEPTION_FIQ	      2
#define EXCEPTION_SERROR      3
#define EXCEPTION_ELSEWHERE   4 /* by a vector that nothing of ours can lead to */

#endif
