/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in dma-bufs. */
#ifndef SMR_COMPAT_DMA_BUF_H
#define SMR_COMPAT_DMA_BUF_H

#include <linux/dma-buf.h>
#include <linux/module.h>

#include "generated.h"

/* The namespace of symbols was a token before it was a string. */
#ifdef HAVE_IMPORT_NS_TOKEN
#define SMR_IMPORT_NS_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#else
#define SMR_IMPORT_NS_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#endif

/* The functions that take the buffer's lock were renamed. */
#ifndef HAVE_DMA_BUF_VMAP_UNLOCKED
#define dma_buf_vmap_unlocked(buf, map)		dma_buf_vmap(buf, map)
#define dma_buf_vunmap_unlocked(buf, map)	dma_buf_vunmap(buf, map)
#endif

#endif /* SMR_COMPAT_DMA_BUF_H */
