typedef int json_schema_not_yet;
