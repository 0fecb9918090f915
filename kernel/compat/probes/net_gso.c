// SPDX-License-Identifier: GPL-2.0
#include <net/gso.h>
struct sk_buff *probe(struct sk_buff *skb);
struct sk_buff *probe(struct sk_buff *skb)
{ return __skb_gso_segment(skb, 0, false); }
