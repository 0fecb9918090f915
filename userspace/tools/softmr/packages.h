/* SPDX-License-Identifier: GPL-2.0 */
/* What to type on this distribution to have a package. */
#ifndef SOFTMR_PACKAGES_H
#define SOFTMR_PACKAGES_H

#include <stdbool.h>

/*
 * The command that installs packages of softmr, by their names in Debian and as
 * RPMs (NULL: there is none). @again: they are there, and have to be installed
 * again. Where no packages of softmr are made for the distribution, what makes
 * the same of its source.
 */
char *install_softmr(const char *deb, const char *rpm, bool again);
/* The same for packages of the distribution's own */
char *install_other(const char *deb, const char *rpm);
/* The headers of the kernel RELEASE */
char *install_headers(const char *release);

#endif /* SOFTMR_PACKAGES_H */
