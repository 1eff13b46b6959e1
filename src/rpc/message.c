typedef int rpc_message_not_yet;
