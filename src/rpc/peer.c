typedef int rpc_peer_not_yet;
