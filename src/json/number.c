typedef int json_number_not_yet;
