// SPDX-License-Identifier: GPL-2.0
#include "packages.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

enum family {
	FAMILY_DEB,
	FAMILY_DNF,
	FAMILY_ZYPPER,
	FAMILY_OTHER,	/* there are no packages of softmr for it */
};

static enum family family_of(const char *id)
{
	static const struct {
		const char *id;
		enum family family;
	} ids[] = {
		{ "debian", FAMILY_DEB }, { "ubuntu", FAMILY_DEB },
		{ "fedora", FAMILY_DNF }, { "rhel", FAMILY_DNF }, { "centos", FAMILY_DNF },
		{ "suse", FAMILY_ZYPPER }, { "opensuse", FAMILY_ZYPPER },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++)
		if (!strcmp(ids[i].id, id))
			return ids[i].family;
	return FAMILY_OTHER;
}

/* ID names the distribution, ID_LIKE those that it is based on: words, perhaps in quotes */
static enum family family(void)
{
	char *text = read_text("/etc/os-release"), *rest = text, *line, *word;
	enum family found = FAMILY_OTHER;

	while (rest && (line = strsep(&rest, "\n"))) {
		word = strsep(&line, "=");
		if (strcmp(word, "ID") && strcmp(word, "ID_LIKE"))
			continue;
		while (found == FAMILY_OTHER && line && (word = strsep(&line, " \"'")))
			found = family_of(word);
	}
	free(text);
	return found;
}

static char *command(enum family family, const char *deb, const char *rpm, bool again)
{
	static const char * const verbs[][2] = {
		[FAMILY_DEB] = { "apt-get install", "apt-get install --reinstall" },
		[FAMILY_DNF] = { "dnf install", "dnf reinstall" },
		[FAMILY_ZYPPER] = { "zypper install", "zypper install --force" },
	};

	return strf("%s %s", verbs[family][again], family == FAMILY_DEB ? deb : rpm);
}

char *install_softmr(const char *deb, const char *rpm, bool again)
{
	enum family f = family();

	if (f == FAMILY_DEB || (f != FAMILY_OTHER && rpm))
		return command(f, deb, rpm, again);
	return copy(rpm ? "make install (in softmr's source)" :
			  "scripts/build.sh run (in softmr's source)");
}

char *install_other(const char *deb, const char *rpm)
{
	enum family f = family();

	return f == FAMILY_OTHER ? strf("install %s by this system's package manager", rpm) :
				   command(f, deb, rpm, false);
}

/* On SUSE a release ends in the kernel's flavour, which is part of the package's name. */
char *install_headers(const char *release)
{
	const char *flavour = strrchr(release, '-');
	char *deb = strf("linux-headers-%s", release), *rpm, *todo;

	if (family() == FAMILY_ZYPPER && flavour)
		rpm = strf("kernel-%s-devel", flavour + 1);
	else
		rpm = strf("kernel-devel-%s", release);
	todo = family() == FAMILY_OTHER ?
		       strf("install the headers of the kernel %s by this system's package manager", release) :
		       command(family(), deb, rpm, false);
	free(deb);
	free(rpm);
	return todo;
}
