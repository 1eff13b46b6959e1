/*
 * everything: one of each thing an MCP server can do.
 *
 * What it shows: every kind of reply, resources with a template and a subscription, prompts,
 * completions, log messages, progress, sampling, roots, and forms with every default and every kind
 * of list. The names and texts are those that the official conformance suite looks for, so that
 *
 *     build/release/examples/everything --http 127.0.0.1:3000
 *     npx @modelcontextprotocol/conformance server --url http://127.0.0.1:3000/mcp
 *
 * passes; tests/conformance does just that. To learn nod, read delete-account first. Use this one
 * to look things up.
 *
 * What the person sees: in a real client, forms.
 */
#include <nod/nod.h>

#include <string.h>
#include <time.h>

/* --- bytes to show: one red pixel, and one sample of silence --- */

static const unsigned char pixel_png[] = {
    0x89, 'P',  'N',  'G',  0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 'I',  'H',
    'D',  'R',  0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00,
    0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 'I',  'D',  'A',  'T',  0x78,
    0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xc9, 0xfe, 0x92,
    0xef, 0x00, 0x00, 0x00, 0x00, 'I',  'E',  'N',  'D',  0xae, 0x42, 0x60, 0x82,
};

static const unsigned char silence_wav[] = {
    'R',  'I',  'F',  'F',  0x26, 0x00, 0x00, 0x00, 'W',  'A',  'V',  'E',  'f',  'm',  't',  ' ',
    0x10, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x40, 0x1f, 0x00, 0x00, 0x80, 0x3e, 0x00, 0x00,
    0x02, 0x00, 0x10, 0x00, 'd',  'a',  't',  'a',  0x02, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

/* --- tools that reply --- */

static nod_status simple_text(nod_call *call)
{
    return nod_reply_text(call, "This is a simple text response for testing.");
}

static nod_status image_content(nod_call *call)
{
    return nod_reply_image(call, pixel_png, sizeof(pixel_png), "image/png");
}

static nod_status audio_content(nod_call *call)
{
    return nod_reply_audio(call, silence_wav, sizeof(silence_wav), "audio/wav");
}

static nod_status embedded_resource(nod_call *call)
{
    return nod_reply_resource_text(call, "test://embedded-resource", "text/plain",
                                   "This is an embedded resource content.");
}

static nod_status multiple_content_types(nod_call *call)
{
    (void)nod_reply_text(call, "Multiple content types test:");
    (void)nod_reply_image(call, pixel_png, sizeof(pixel_png), "image/png");
    return nod_reply_resource_text(call, "test://mixed-content-resource", "application/json",
                                   "{\"test\":\"data\",\"value\":123}");
}

static nod_status error_handling(nod_call *call)
{
    return nod_reply_error(call, "This tool intentionally returns an error for testing");
}

static nod_status resource_link(nod_call *call)
{
    return nod_reply_link(call, "test://static-text", "static-text", "A text that never changes",
                          "text/plain");
}

/* Checked against .output_schema before it is sent. */
static nod_status structured_content(nod_call *call)
{
    nod_json *weather = nod_object(call);

    nod_set_str(call, weather, "city", nod_arg_str(call, "city"));
    nod_set_double(call, weather, "celsius", 21.5);
    return nod_reply_structured(call, weather);
}

static nod_status json_schema_tool(nod_call *call)
{
    return nod_reply_textf(call, "Got %s", nod_json_text(call, nod_args(call)));
}

/* --- tools that send something meanwhile: they wait, so they are .blocking --- */

static nod_status tool_with_logging(nod_call *call)
{
    nod_log(call, NOD_LOG_INFO, "everything", "Tool execution started");
    sleep_ms(50);
    nod_log(call, NOD_LOG_INFO, "everything", "Tool processing data");
    sleep_ms(50);
    nod_log(call, NOD_LOG_INFO, "everything", "Tool execution completed");
    return nod_reply_text(call, "Tool with logging executed successfully");
}

static nod_status tool_with_progress(nod_call *call)
{
    for (int done = 0; done <= 100; done += 50) {
        if (done > 0)
            sleep_ms(50);
        nod_progress(call, done, 100, NULL);
    }
    return nod_reply_text(call, "Tool with progress executed successfully");
}

/*
 * The log message opens the call's event stream at once, with an event id. A client that loses the
 * connection now comes back with that id, and gets the result then.
 */
static nod_status reconnection(nod_call *call)
{
    nod_log(call, NOD_LOG_NOTICE, "everything", "The connection may drop now");
    sleep_ms(100);
    return nod_reply_text(call, "The result has arrived, whatever happened to the connection.");
}

/* --- tools that ask --- */

static nod_status sampling(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_sample(call, &answer, .prompt = nod_arg_str(call, "prompt"), .max_tokens = 100));
    return nod_reply_textf(call, "LLM response: %s",
                           nod_get_str(nod_get(answer.content, "content"), "text"));
}

static nod_status roots(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_roots(call, &answer));

    const nod_json *list = nod_get(answer.content, "roots");
    for (size_t i = 0; i < nod_count(list); i++)
        (void)nod_reply_textf(call, "Root: %s", nod_get_str(nod_at(list, i), "uri"));
    return nod_reply_textf(call, "%zu in all", nod_count(list));
}

static const char *action_name(nod_action action)
{
    switch (action) {
    case NOD_ACCEPT:
        return "accept";
    case NOD_DECLINE:
        return "decline";
    case NOD_CANCEL:
        return "cancel";
    default:
        return "none";
    }
}

static nod_status reply_with_answer(nod_call *call, const char *words, const nod_answer *answer)
{
    return nod_reply_textf(call, "%s: action=%s, content=%s", words, action_name(answer->action),
                           answer->content ? nod_json_text(call, answer->content) : "{}");
}

static nod_status elicitation(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = nod_arg_str(call, "message"),
        .form =
            NOD_FORM(NOD_TEXT("username", .description = "User's response", .required = true),
                     NOD_TEXT("email", .description = "User's email address", .required = true))));
    return reply_with_answer(call, "User response", &answer);
}

static nod_status elicitation_defaults(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = "Please review and update the form fields with defaults",
        .form = NOD_FORM(
            NOD_TEXT("name", .description = "User name", .preset = "John Doe"),
            NOD_INT("age", .description = "User age", .preset = "30"),
            NOD_NUMBER("score", .description = "User score", .preset = "95.5"),
            NOD_CHOICE("status", NOD_OPTIONS({ "active" }, { "inactive" }, { "pending" }),
                       .description = "User status", .preset = "active"),
            NOD_BOOL("verified", .description = "Verification status", .preset = "true"))));
    return reply_with_answer(call, "Elicitation completed", &answer);
}

/* A form given as JSON Schema: the older way to write titles (enumNames) has no builder. */
static const char enums_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
    "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
    "{\"const\":\"value1\",\"title\":\"First Option\"},"
    "{\"const\":\"value2\",\"title\":\"Second Option\"},"
    "{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
    "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
    "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
    "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
    "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
    "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
    "{\"const\":\"value1\",\"title\":\"First Choice\"},"
    "{\"const\":\"value2\",\"title\":\"Second Choice\"},"
    "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}},"
    "\"required\":[]}";

static nod_status elicitation_enums(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Please select options from the enum fields",
                       .schema = enums_schema));
    return reply_with_answer(call, "Elicitation completed", &answer);
}

/* --- a resource that changes --- */

static int watched_version = 1;

static nod_status touch_watched(nod_call *call)
{
    watched_version++;
    nod_resource_updated(nod_server_of(call), "test://watched-resource");
    return nod_reply_textf(call, "Version %d", watched_version);
}

/* An input schema of your own, for what a form cannot express. It is sent as it is. */
static const char contact_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","
    "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":["
    "\"contactMethod\"]},"
    "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
    "\"additionalProperties\":false}";

/* --- several rounds, several questions at once --- */

#define ASK_NAME NOD_FORM(NOD_TEXT("name", .required = true))

static nod_status ask_name(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "user_name", .message = "What is your name?",
                       .form = ASK_NAME));
    if (answer.action != NOD_ACCEPT)
        return nod_reply_text(call, "Hello, whoever you are!");
    return nod_reply_textf(call, "Hello, %s!", nod_get_str(answer.content, "name"));
}

static nod_status ask_model(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_sample(call, &answer, .key = "capital_question",
                       .prompt = "What is the capital of France?", .max_tokens = 100));
    return nod_reply_textf(call, "The model says: %s",
                           nod_get_str(nod_get(answer.content, "content"), "text"));
}

static nod_status ask_roots(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_want_roots(call, &answer, .key = "client_roots"));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "Roots: %s", nod_json_text(call, nod_get(answer.content, "roots")));
}

static nod_status ask_confirmation(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "confirm", .message = "Please confirm",
                       .form = NOD_FORM(NOD_BOOL("ok", .required = true))));
    return nod_reply_textf(call, "state-ok, and the answer is %s",
                           nod_get_bool(answer.content, "ok") ? "yes" : "no");
}

static nod_status ask_three_at_once(nod_call *call)
{
    nod_answer name, greeting, client_roots;

    NOD_TRY(nod_want(call, &name, .key = "user_name", .message = "What is your name?",
                     .form = ASK_NAME));
    NOD_TRY(nod_want_sample(call, &greeting, .key = "greeting", .prompt = "Generate a greeting",
                            .max_tokens = 50));
    NOD_TRY(nod_want_roots(call, &client_roots, .key = "client_roots"));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%s %s, you have %zu roots",
                           nod_get_str(nod_get(greeting.content, "content"), "text"),
                           nod_get_str(name.content, "name"),
                           nod_count(nod_get(client_roots.content, "roots")));
}

static nod_status ask_in_two_rounds(nod_call *call)
{
    nod_answer name, color;

    NOD_TRY(nod_elicit(call, &name, .key = "step1", .message = "Step 1: What is your name?",
                       .form = ASK_NAME));
    NOD_TRY(nod_elicit(call, &color, .key = "step2",
                       .message = "Step 2: What is your favorite color?",
                       .form = NOD_FORM(NOD_TEXT("color", .required = true))));
    return nod_reply_textf(call, "%s likes %s", nod_get_str(name.content, "name"),
                           nod_get_str(color.content, "color"));
}

/* Asks for as much as this client can be asked. */
static nod_status ask_what_is_supported(nod_call *call)
{
    nod_answer name = { 0 }, greeting = { 0 };

    if (nod_supports(call, NOD_MODE_FORM))
        NOD_TRY(nod_want(call, &name, .key = "user_name", .message = "What is your name?",
                         .form = ASK_NAME));
    if (nod_supports(call, NOD_MODE_SAMPLING))
        NOD_TRY(nod_want_sample(call, &greeting, .key = "greeting", .prompt = "Generate a greeting",
                                .max_tokens = 50));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%s %s", nod_get_str(nod_get(greeting.content, "content"), "text"),
                           nod_get_str(name.content, "name"));
}

static nod_status need_sampling(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_sample(call, &answer, .prompt = "Say something", .max_tokens = 10));
    return nod_reply_text(call, "The client's model has spoken.");
}

static nod_status streaming_elicitation(nod_call *call)
{
    nod_answer answer;

    nod_progress(call, 1, 2, "About to ask");
    NOD_TRY(nod_elicit(call, &answer, .key = "user_name", .message = "What is your name?",
                       .form = ASK_NAME));
    nod_progress(call, 2, 2, "Asked");
    return nod_reply_textf(call, "Hello, %s!", nod_get_str(answer.content, "name"));
}

static nod_status logging_tool(nod_call *call)
{
    nod_log(call, NOD_LOG_INFO, "everything", "Something worth noting");
    return nod_reply_text(call, "It was logged, for those who asked for it.");
}

/* A client repeats `region` in a header, so that proxies can route by it. */
static nod_status regional(nod_call *call)
{
    return nod_reply_textf(call, "Region %s, priority %lld", nod_arg_str(call, "region"),
                           (long long)nod_arg_int_or(call, "priority", 0));
}

static const char regional_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"region\":{\"type\":\"string\",\"description\":\"Where\",\"x-mcp-header\":\"Region\"},"
    "\"priority\":{\"type\":\"integer\",\"x-mcp-header\":\"Priority\"},"
    "\"urgent\":{\"type\":\"boolean\",\"x-mcp-header\":\"Urgent\"}},"
    "\"required\":[\"region\"]}";

/* Lists may change while the server runs; listeners are told. */
static nod_status trigger_tool_change(nod_call *call)
{
    static const nod_tool extra = { .name = "test_extra_tool",
                                    .handler = simple_text,
                                    .description = "Comes and goes" };

    if (!nod_remove_tool(nod_server_of(call), extra.name))
        NOD_TRY(nod_add_tools(nod_server_of(call), &extra, 1, sizeof(extra)));
    return nod_reply_text(call, "The list of tools has changed.");
}

static nod_status simple_prompt(nod_call *call);

static nod_status trigger_prompt_change(nod_call *call)
{
    static int added;
    const nod_prompt extra = { .name = nod_fmt(call, "test_extra_prompt_%d", ++added),
                               .get = simple_prompt,
                               .description = "Was not there before" };

    NOD_TRY(nod_add_prompts(nod_server_of(call), &extra, 1, sizeof(extra)));
    return nod_reply_text(call, "The list of prompts has changed.");
}

/* --- tools that are tasks, for clients that declare the extension --- */

static nod_status greet(nod_call *call)
{
    return nod_reply_textf(call, "Hello, %s!", nod_arg_str(call, "name"));
}

/* Checks now and then: a task that was cancelled should not keep a thread. */
static nod_status slow_compute(nod_call *call)
{
    for (int64_t left = nod_arg_int(call, "seconds") * 1000; left > 0; left -= 50) {
        if (nod_cancelled(call))
            return NOD_E_CANCELLED;
        sleep_ms(50);
    }
    return nod_reply_textf(call, "Computed %s", nod_arg_str_or(call, "label", "it"));
}

static nod_status failing_job(nod_call *call)
{
    sleep_ms(500);
    return nod_reply_error(call, "The job ran, and failed");
}

/* If the question cannot be asked, it is a JSON-RPC error, not a result: the task has failed. */
static nod_status protocol_error_job(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Something nested, please",
                       .schema = "{\"type\":\"object\",\"properties\":{\"deep\":{\"type\":"
                                 "\"object\",\"properties\":{}}}}"));
    return nod_reply_text(call, "This is never reached");
}

static nod_status confirm_delete(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .message = nod_fmt(call, "Delete %s?", nod_arg_str(call, "filename")),
        .form = NOD_FORM(NOD_BOOL("confirm", .title = "Yes, delete it", .required = true))));
    if (answer.action != NOD_ACCEPT || !nod_get_bool(answer.content, "confirm"))
        return nod_reply_text(call, "Nothing was deleted");
    return nod_reply_textf(call, "Deleted %s", nod_arg_str(call, "filename"));
}

static nod_status multi_input(nod_call *call)
{
    nod_answer first, second;

    NOD_TRY(nod_want(call, &first, .key = "first", .message = "Who is first?", .form = ASK_NAME));
    NOD_TRY(
        nod_want(call, &second, .key = "second", .message = "Who is second?", .form = ASK_NAME));
    NOD_TRY(nod_await(call));
    return nod_reply_textf(call, "%s, then %s", nod_get_str(first.content, "name"),
                           nod_get_str(second.content, "name"));
}

static nod_status do_nothing(nod_step_run *step, void *arg)
{
    (void)step, (void)arg;
    return NOD_OK;
}

/* .task_asks_first: the name is asked for before there is a task, which begins with the step. */
static nod_status tool_with_task(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "user_name", .message = "What is your name?",
                       .form = ASK_NAME));
    NOD_TRY(nod_step(call, "work", do_nothing, NULL, NULL, .idempotent = true));
    return nod_reply_textf(call, "Hello, %s!", nod_get_str(answer.content, "name"));
}

static const nod_tool tools[] = {
    { .name = "test_simple_text",
      .handler = simple_text,
      .description = "Replies with text",
      .read_only = true },
    { .name = "test_image_content",
      .handler = image_content,
      .description = "Replies with an image",
      .read_only = true },
    { .name = "test_audio_content",
      .handler = audio_content,
      .description = "Replies with sound",
      .read_only = true },
    { .name = "test_embedded_resource",
      .handler = embedded_resource,
      .description = "Replies with a resource",
      .read_only = true },
    { .name = "test_multiple_content_types",
      .handler = multiple_content_types,
      .description = "Replies with text, an image and a resource",
      .read_only = true },
    { .name = "test_resource_link",
      .handler = resource_link,
      .description = "Replies with a link to a resource",
      .read_only = true },
    { .name = "test_structured_content",
      .handler = structured_content,
      .description = "Replies with data that fits a schema",
      .input = NOD_FORM(NOD_TEXT("city", .required = true, NOD_MAX(80))),
      .output_schema = "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},"
                       "\"celsius\":{\"type\":\"number\"}},\"required\":[\"city\",\"celsius\"]}",
      .read_only = true },
    { .name = "test_error_handling",
      .handler = error_handling,
      .description = "Replies with an error",
      .read_only = true },
    { .name = "test_tool_with_logging",
      .handler = tool_with_logging,
      .description = "Sends log messages while it works",
      .blocking = true },
    { .name = "test_tool_with_progress",
      .handler = tool_with_progress,
      .description = "Reports progress while it works",
      .blocking = true },
    { .name = "test_reconnection",
      .handler = reconnection,
      .description = "Takes a moment, so that the connection can be lost and taken up again",
      .blocking = true },
    { .name = "test_sampling",
      .handler = sampling,
      .description = "Asks the client's model",
      .input = NOD_FORM(NOD_TEXT("prompt", .description = "What to ask it", .required = true)) },
    { .name = "test_roots", .handler = roots, .description = "Asks the client for its roots" },
    { .name = "test_elicitation",
      .handler = elicitation,
      .description = "Asks the person for a name and an address",
      .input = NOD_FORM(NOD_TEXT("message", .description = "What to ask", .required = true)) },
    { .name = "test_elicitation_sep1034_defaults",
      .handler = elicitation_defaults,
      .description = "Asks with a form that is filled in already" },
    { .name = "test_elicitation_sep1330_enums",
      .handler = elicitation_enums,
      .description = "Asks with every kind of list" },
    { .name = "json_schema_2020_12_tool",
      .handler = json_schema_tool,
      .description = "Tool with JSON Schema 2020-12 features",
      .input_schema = contact_schema },
    { .name = "touch_watched_resource",
      .handler = touch_watched,
      .description = "Changes test://watched-resource; those who subscribed are told" },
    { .name = "test_input_required_result_elicitation",
      .handler = ask_name,
      .description = "Asks for a name" },
    { .name = "test_input_required_result_sampling",
      .handler = ask_model,
      .description = "Asks the client's model for a capital" },
    { .name = "test_input_required_result_list_roots",
      .handler = ask_roots,
      .description = "Asks for the client's roots" },
    { .name = "test_input_required_result_request_state",
      .handler = ask_confirmation,
      .description = "Asks for a yes" },
    { .name = "test_input_required_result_tampered_state",
      .handler = ask_confirmation,
      .description = "Asks for a yes" },
    { .name = "test_input_required_result_multiple_inputs",
      .handler = ask_three_at_once,
      .description = "Asks three things at once" },
    { .name = "test_input_required_result_multi_round",
      .handler = ask_in_two_rounds,
      .description = "Asks one thing, then another" },
    { .name = "test_input_required_result_capabilities",
      .handler = ask_what_is_supported,
      .description = "Asks whatever this client can be asked" },
    { .name = "test_missing_capability",
      .handler = need_sampling,
      .description = "Cannot do without the client's model" },
    { .name = "test_streaming_elicitation",
      .handler = streaming_elicitation,
      .description = "Reports progress, then asks" },
    { .name = "test_logging_tool", .handler = logging_tool, .description = "Sends a log message" },
    { .name = "test_regional",
      .handler = regional,
      .description = "Takes arguments that are repeated in headers",
      .input_schema = regional_schema,
      .read_only = true },
    { .name = "test_trigger_tool_change",
      .handler = trigger_tool_change,
      .description = "Adds a tool, or takes it away" },
    { .name = "test_trigger_prompt_change",
      .handler = trigger_prompt_change,
      .description = "Adds a prompt" },
    { .name = "greet",
      .handler = greet,
      .description = "Is never a task",
      .input = NOD_FORM(NOD_TEXT("name", .required = true)),
      .read_only = true },
    { .name = "slow_compute",
      .handler = slow_compute,
      .description = "Takes its time",
      .input = NOD_FORM(NOD_INT("seconds", .required = true, NOD_MIN(0), NOD_MAX(60)),
                        NOD_TEXT("label")),
      .task = NOD_TASK_OPTIONAL,
      .timeout_ms = 120000,
      .blocking = true },
    { .name = "failing_job",
      .handler = failing_job,
      .description = "Fails after a while",
      .task = NOD_TASK_REQUIRED,
      .blocking = true },
    { .name = "protocol_error_job",
      .handler = protocol_error_job,
      .description = "Asks what cannot be asked",
      .task = NOD_TASK_OPTIONAL },
    { .name = "confirm_delete",
      .handler = confirm_delete,
      .description = "Asks inside of the task",
      .input = NOD_FORM(NOD_TEXT("filename", .required = true)),
      .task = NOD_TASK_OPTIONAL },
    { .name = "multi_input",
      .handler = multi_input,
      .description = "Asks two things at once, inside of the task",
      .task = NOD_TASK_OPTIONAL },
    { .name = "test_tool_with_task",
      .handler = tool_with_task,
      .description = "Asks first, and then becomes a task",
      .task = NOD_TASK_REQUIRED,
      .task_asks_first = true },
};

/* --- resources --- */

static nod_status read_static_text(nod_call *call)
{
    return nod_reply_resource_text(call, NULL, "text/plain",
                                   "This is the content of the static text resource.");
}

static nod_status read_static_binary(nod_call *call)
{
    return nod_reply_resource_blob(call, NULL, "image/png", pixel_png, sizeof(pixel_png));
}

static nod_status read_watched(nod_call *call)
{
    return nod_reply_resource_text(call, NULL, "text/plain",
                                   nod_fmt(call, "Version %d", watched_version));
}

/* The variable in braces in the template is an argument. */
static nod_status read_template(nod_call *call)
{
    const char *id = nod_arg_str(call, "id");
    nod_json *data = nod_object(call);

    nod_set_str(call, data, "id", id);
    nod_set_bool(call, data, "templateTest", true);
    nod_set_str(call, data, "data", nod_fmt(call, "Data for ID: %s", id));
    return nod_reply_resource_text(call, NULL, "application/json", nod_json_text(call, data));
}

static nod_status complete_words(nod_call *call)
{
    static const char *const words[] = { "test", "testing", "paris", "park", "party" };
    const char *typed = nod_completing_text(call);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(words[i], typed, strlen(typed)) == 0)
            nod_suggest(call, words[i]);
    return NOD_OK;
}

static const nod_resource resources[] = {
    { .uri = "test://static-text",
      .name = "static-text",
      .read = read_static_text,
      .title = "Static text",
      .description = "A text that never changes",
      .mime_type = "text/plain" },
    { .uri = "test://static-binary",
      .name = "static-binary",
      .read = read_static_binary,
      .title = "Static image",
      .description = "One red pixel",
      .mime_type = "image/png" },
    { .uri = "test://watched-resource",
      .name = "watched-resource",
      .read = read_watched,
      .title = "Watched resource",
      .description = "Changes when touch_watched_resource is called",
      .mime_type = "text/plain",
      .subscribable = true },
    { .uri = "test://template/{id}/data",
      .name = "template",
      .read = read_template,
      .title = "Data by id",
      .description = "One resource for each id",
      .mime_type = "application/json",
      .complete = complete_words },
};

/* --- prompts --- */

static nod_status simple_prompt(nod_call *call)
{
    return nod_reply_text(call, "This is a simple prompt for testing.");
}

static nod_status prompt_with_arguments(nod_call *call)
{
    return nod_reply_textf(call, "Prompt with arguments: arg1='%s', arg2='%s'",
                           nod_arg_str(call, "arg1"), nod_arg_str(call, "arg2"));
}

static nod_status prompt_with_embedded_resource(nod_call *call)
{
    (void)nod_reply_resource_text(call, nod_arg_str(call, "resourceUri"), "text/plain",
                                  "Embedded resource content for testing.");
    return nod_reply_text(call, "Please process the embedded resource above.");
}

static nod_status prompt_with_image(nod_call *call)
{
    (void)nod_reply_image(call, pixel_png, sizeof(pixel_png), "image/png");
    return nod_reply_text(call, "Please analyze the image above.");
}

static nod_status prompt_dialogue(nod_call *call)
{
    (void)nod_reply_text(call, "What is the answer?");
    nod_reply_as(call, NOD_ASSISTANT);
    return nod_reply_text(call, "Forty-two.");
}

static nod_status prompt_that_asks(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .key = "user_context",
                       .message = "What context should the prompt use?",
                       .form = NOD_FORM(NOD_TEXT("context", .required = true))));
    return nod_reply_textf(call, "Use this context: %s", nod_get_str(answer.content, "context"));
}

static const nod_prompt_arg two_args[] = {
    { .name = "arg1",
      .description = "First test argument",
      .required = true,
      .complete = complete_words },
    { .name = "arg2", .description = "Second test argument", .required = true },
    { 0 },
};
static const nod_prompt_arg uri_arg[] = {
    { .name = "resourceUri", .description = "URI of the resource to embed", .required = true },
    { 0 },
};

static const nod_prompt prompts[] = {
    { .name = "test_simple_prompt",
      .get = simple_prompt,
      .description = "A prompt without arguments" },
    { .name = "test_prompt_with_arguments",
      .get = prompt_with_arguments,
      .description = "A prompt with two arguments",
      .args = two_args },
    { .name = "test_prompt_with_embedded_resource",
      .get = prompt_with_embedded_resource,
      .description = "A prompt that carries a resource",
      .args = uri_arg },
    { .name = "test_prompt_with_image",
      .get = prompt_with_image,
      .description = "A prompt that carries an image" },
    { .name = "test_prompt_dialogue",
      .get = prompt_dialogue,
      .description = "A prompt with a question and an answer" },
    { .name = "test_input_required_result_prompt",
      .get = prompt_that_asks,
      .description = "A prompt that asks first" },
};

int main(int argc, char **argv)
{
    nod_server *server =
        nod_server_new(.name = "everything", .version = NOD_VERSION, .title = "One of each",
                       .instructions = "Shows what an MCP server can do.");

    if (server == NULL || nod_tools(server, tools) != NOD_OK ||
        nod_resources(server, resources) != NOD_OK || nod_prompts(server, prompts) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
