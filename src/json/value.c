typedef int json_value_not_yet;
