/* SPDX-License-Identifier: GPL-2.0 */
/* Sizes in bytes. The tests run on machines whose pages are of 4 KiB. */
#ifndef VT_SIZES_H
#define VT_SIZES_H

#define PAGE	4096ul
#define MIB	(1024ul * 1024)

#endif /* VT_SIZES_H */
