/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ONDELOC_TESTS_APPS_LATE_RETURN_H
#define ONDELOC_TESTS_APPS_LATE_RETURN_H

#include <semaphore.h>

/* Posted when a call has returned from MPI. The call goes on when the other one is posted. */
extern sem_t late_done, late_may_return;

#endif
