typedef int net_loop_not_yet;
