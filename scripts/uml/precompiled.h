/* SPDX-License-Identifier: GPL-2.0 */
/* What scripts/uml/cc has gcc read once: the three that kbuild includes, and what most sources begin with */
#include <linux/compiler-version.h>
#include <linux/kconfig.h>
#include <linux/compiler_types.h>

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/mm.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <net/ip.h>
#include <net/sock.h>
