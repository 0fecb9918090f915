/* SPDX-License-Identifier: GPL-2.0 */
/* Device memory as a dma-buf. */
#ifndef SMR_DM_EXPORT_H
#define SMR_DM_EXPORT_H

struct dma_buf;
struct smr_dm;

struct dma_buf *smr_dm_export(const struct smr_dm *dm);

#endif /* SMR_DM_EXPORT_H */
