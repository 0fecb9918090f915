/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels about dma-bufs. */
#ifndef SMR_COMPAT_DMA_BUF_H
#define SMR_COMPAT_DMA_BUF_H

#include <linux/module.h>

#include "generated.h"

/* The namespace of symbols was a token before it was a string. */
#ifdef HAVE_IMPORT_NS_TOKEN
#define SMR_IMPORT_NS_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#else
#define SMR_IMPORT_NS_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#endif

#endif /* SMR_COMPAT_DMA_BUF_H */
