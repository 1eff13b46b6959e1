typedef int net_pipe_not_yet;
