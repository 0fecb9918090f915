/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What softmr-node sends to process 1, which may enter a node's namespaces:
 * the length of a job (uint32_t) along with its own three files, and the job
 * with node, cwd, env and arg. Then it may send signals (uint32_t). It gets
 * the command's status (int32_t).
 */
#ifndef SMR_RUN_SERVE_H
#define SMR_RUN_SERVE_H

/* More than execve(2) takes of arguments and environment (6 MiB) */
#define REQUEST_MAX	(8 << 20)

#endif
