typedef int json_write_not_yet;
