typedef int net_http_not_yet;
