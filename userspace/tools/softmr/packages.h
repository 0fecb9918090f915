/* SPDX-License-Identifier: GPL-2.0 */
/* The commands of this distribution that install packages */
#ifndef SOFTMR_PACKAGES_H
#define SOFTMR_PACKAGES_H

#include <stdbool.h>

/*
 * The command that installs packages of softmr, by their names in Debian and as
 * RPMs (NULL: there is none). @again: they are installed, and have to be
 * reinstalled. If the distribution has no packages of softmr, the command that
 * builds the same from source.
 */
char *install_softmr(const char *deb, const char *rpm, bool again);
/* The same for the distribution's own packages */
char *install_other(const char *deb, const char *rpm);
/* The headers of the kernel RELEASE */
char *install_headers(const char *release);

#endif /* SOFTMR_PACKAGES_H */
