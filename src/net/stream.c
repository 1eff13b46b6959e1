typedef int net_stream_not_yet;
