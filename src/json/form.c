typedef int json_form_not_yet;
