/* SPDX-License-Identifier: GPL-2.0 */
/*
 * softmr-node sends this to process 1, which may enter a node's namespaces: the
 * length of a job (uint32_t) together with its own three files, and the job
 * with node, cwd, env and arg. After that it may send signals (uint32_t). It
 * receives the command's status (int32_t).
 */
#ifndef SMR_RUN_SERVE_H
#define SMR_RUN_SERVE_H

/* More than the arguments and environment that execve(2) accepts (6 MiB) */
#define REQUEST_MAX	(8 << 20)

#endif
