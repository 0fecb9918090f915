// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of softmr's code, for gcov: scripts/coverage.sh has softmr compiled with
 * -fprofile-arcs and this file linked into softmr.ko. CONFIG_GCOV_KERNEL would do the same, in
 * a kernel made for it; this works with any, and what a module has counted is not lost when the
 * module goes, as it often does in tests.
 *
 * The counters are written to a file in /mnt/share, which is a directory of the host's in a
 * test bed, when the module is removed, and when 1 is written to
 * /sys/module/softmr/parameters/gcov. The file has, for each object of the module: the length
 * of a name, the name of the .gcda file, the length of its contents, these. Lengths have 32
 * bits. scripts/coverage/report.py adds files up.
 */
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

/* From here to struct object: how gcc lays its data out (gcc/coverage.cc). */
#if __GNUC__ >= 15
#define COUNTERS	10
#elif __GNUC__ >= 14
#define COUNTERS	9
#else
#define COUNTERS	8
#endif

/* Units of lengths in .gcda files: bytes, and before gcc 12 words */
#define UNIT		(__GNUC__ >= 12 ? 4 : 1)

#define GCDA_MAGIC	0x67636461
#define TAG_FUNCTION	0x01000000
#define TAG_ARCS	0x01a10000

struct counters {
	unsigned int n;
	s64 *value;
};

struct function {
	const void *key;
	unsigned int ident;
	unsigned int lineno_checksum;
	unsigned int cfg_checksum;
	struct counters arcs;
};

struct object {
	unsigned int version;
	struct object *next;
	unsigned int stamp;
#if __GNUC__ >= 12
	unsigned int checksum;
#endif
	const char *name;
	void (*merge[COUNTERS])(s64 *value, unsigned int n);
	unsigned int n;
	const struct function *const *function;
};

/**
 * struct dump - a .gcda file that is being written to memory
 * @p: NULL: only the length counts
 * @len: bytes so far
 */
struct dump {
	u8 *p;
	size_t len;
};

/*
 * The section in which gcc puts a pointer to each object's data. The linker keeps the order of
 * the objects, so gcov_begin.c, which comes first, and this file enclose the others'.
 */
extern const struct object *const smr_gcov_begin[];
static const struct object *const smr_gcov_end[1] __used __section(".gcov_info");

void __gcov_merge_add(s64 *value, unsigned int n);

/* Only its address counts: objects say by it what kind of counters they have. */
void __gcov_merge_add(s64 *value, unsigned int n)
{
}

static void put(struct dump *dump, u32 word)
{
	if (dump->p)
		memcpy(dump->p + dump->len, &word, sizeof(word));
	dump->len += sizeof(word);
}

static void put_function(struct dump *dump, const struct function *f)
{
	unsigned int i;
	u64 value;

	put(dump, TAG_FUNCTION);
	put(dump, 3 * UNIT);
	put(dump, f->ident);
	put(dump, f->lineno_checksum);
	put(dump, f->cfg_checksum);
	put(dump, TAG_ARCS);
	put(dump, 2 * f->arcs.n * UNIT);
	for (i = 0; i < f->arcs.n; i++) {
		value = READ_ONCE(f->arcs.value[i]);
		put(dump, lower_32_bits(value));
		put(dump, upper_32_bits(value));
	}
}

static void put_object(struct dump *dump, const struct object *object)
{
	unsigned int i;

	put(dump, GCDA_MAGIC);
	put(dump, object->version);
	put(dump, object->stamp);
#if __GNUC__ >= 12
	put(dump, object->checksum);
#endif
	for (i = 0; i < object->n; i++)
		if (object->function[i] && object->function[i]->key == object)
			put_function(dump, object->function[i]);
}

static int write_object(struct file *file, const struct object *object, loff_t *pos)
{
	u32 name_len = strlen(object->name);
	struct dump dump = {};
	u32 len;
	int err;

	put_object(&dump, object);
	len = dump.len;
	dump.p = vmalloc(len);
	if (!dump.p)
		return -ENOMEM;
	dump.len = 0;
	put_object(&dump, object);
	err = kernel_write(file, &name_len, sizeof(name_len), pos) != sizeof(name_len) ||
	      kernel_write(file, object->name, name_len, pos) != name_len ||
	      kernel_write(file, &len, sizeof(len), pos) != sizeof(len) ||
	      kernel_write(file, dump.p, len, pos) != len;
	vfree(dump.p);
	return err ? -EIO : 0;
}

static int write_all(void)
{
	const struct object *const *object;
	struct file *file;
	char path[64];
	loff_t pos = 0;
	int err = 0;

	snprintf(path, sizeof(path), "/mnt/share/gcov.%016llx", get_random_u64());
	file = filp_open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (IS_ERR(file))
		return PTR_ERR(file);
	for (object = smr_gcov_begin + 1; object < smr_gcov_end && !err; object++)
		err = write_object(file, *object, &pos);
	filp_close(file, NULL);
	return err;
}

static int gcov_set(const char *value, const struct kernel_param *param)
{
	return write_all();
}

/* The module goes. Its code has run for the last time. */
static void gcov_free(void *arg)
{
	int err = write_all();

	if (err)
		pr_info("softmr: the coverage is lost: error %d\n", err);
}

static const struct kernel_param_ops gcov_ops = {
	.set = gcov_set,
	.free = gcov_free,
};

module_param_cb(gcov, &gcov_ops, NULL, 0200);
MODULE_PARM_DESC(gcov, "write what code has been executed to a file");
