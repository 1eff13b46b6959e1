typedef int net_sse_not_yet;
