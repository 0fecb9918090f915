// SPDX-License-Identifier: GPL-2.0
#include <linux/skbuff.h>
bool probe(struct sk_buff *skb);
bool probe(struct sk_buff *skb)
{ return skb_frags_readable(skb); }
