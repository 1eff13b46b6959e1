typedef int net_http1_not_yet;
