/* SPDX-License-Identifier: GPL-2.0 */
/* What a test includes: the kselftest harness and the library. */
#ifndef VT_HARNESS_H
#define VT_HARNESS_H

#include "kselftest_harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "counter.h"
#include "endpoint.h"
#include "paths.h"
#include "pattern.h"
#include "sizes.h"
#include "work.h"

/*
 * For FIXTURE_SETUP and the like: @expr is 0 or a negative errno. If the device
 * does not support it, the test is skipped.
 */
#define VT_SETUP(expr) do { \
	int _err = (expr); \
	if (vt_unsupported(_err)) \
		SKIP(return, "%s", strerror(-_err)); \
	ASSERT_EQ(0, _err) \
		TH_LOG("%s: %s", #expr, strerror(-_err)); \
} while (0)

/* The status of a process that ends with @expr as its exit status */
#define VT_IN_CHILD(expr) ({						\
	int _status = -1;						\
	pid_t _pid = fork();						\
									\
	if (!_pid)							\
		_exit(expr);						\
	waitpid(_pid, &_status, 0);					\
	_status;							\
})

/*
 * The main() of a test: without SMR_DEV in the environment, lib/paths.sh runs
 * the test once for each way to connect its two ends.
 */
static inline int vt_harness_main(int argc, char **argv)
{
	if (!getenv("SMR_DEV"))
		vt_run_on_paths(argv);
	vt_load_providers();
	return test_harness_run(argc, argv);
}

/* Instead of TEST_HARNESS_MAIN */
#define VT_HARNESS_MAIN \
int main(int argc, char **argv) \
{ \
	return vt_harness_main(argc, argv); \
}

#endif /* VT_HARNESS_H */
