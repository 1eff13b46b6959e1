typedef int json_parse_not_yet;
