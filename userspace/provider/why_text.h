/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The text of a refusal, for the provider and the tool */
#ifndef SMR_WHY_TEXT_H
#define SMR_WHY_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <softmr-why.h>

/**
 * struct smr_why_info - a reason, see why_table.h
 * @id: enum smr_why_id
 * @name: in capitals
 * @numbers: the names and types of its numbers
 * @text: what was wrong, with names of numbers in braces; text in brackets is left out if the
 *	first number in it is 0
 * @todo: what to do
 */
struct smr_why_info {
	uint32_t id;
	const char *name;
	const char *numbers;
	const char *text;
	const char *todo;
};

/* NULL: the reason is newer than this library. */
const struct smr_why_info *smr_why_info(uint32_t id);
/* Entry @i of the table, or NULL after the last one. */
const struct smr_why_info *smr_why_info_nth(size_t i);

/*
 * smr_why_number - a number's name
 * @i: which, from 0 on
 * @len: set to the name's length
 *
 * Return: the name, which is not terminated; NULL: there are fewer numbers.
 */
const char *smr_why_number(const struct smr_why_info *info, unsigned int i,
			   size_t *len);

/*
 * smr_why_format - the text, with its numbers
 *
 * Return: as snprintf(): the length, whatever @size is.
 */
size_t smr_why_format(const struct smr_why_info *info, const uint64_t *num,
		      char *buf, size_t size);

/*
 * smr_why_say - the text of a record
 *
 * A reason that is newer than this library is said by its name and its numbers, as the module gives
 * them. Return: as smr_why_format().
 */
size_t smr_why_say(const struct smr_abi_why *rec, char *buf, size_t size);
/* "?": neither this library nor the module knows the id. */
const char *smr_why_name(const struct smr_abi_why *rec);
const char *smr_why_todo(const struct smr_abi_why *rec);

/* What the program got: "EINVAL", "status 10"; or "dropped" for a packet */
void smr_why_error(const struct smr_abi_why *rec, char *buf, size_t size);

/*
 * smr_why_request - which request it was: " RDMA_READ wr_id 0x7 PSN 0x9a12"
 *
 * Empty if the record is not about a request.
 */
void smr_why_request(const struct smr_abi_why *rec, char *buf, size_t size);

#endif /* SMR_WHY_TEXT_H */
